"""The page that is served, in a real browser, from a real server over a small index with hostile texts in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.browser import opened

from mirrormask.search.index import Index

KEY = "a-key-for-this-test"
SIGNED = f"sessionStorage.setItem('mirrormask-key', '{KEY}')"
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
HOSTILE = [
    {
        "id": "<b>bold</b>.md",
        "title": "</script><script>window.hit = 1</script> bread",
        "text": "<img src=x onerror='window.hit=1'> \U0001f600\U0001f600 some bread & <style>*{opacity:0}</style> end.",
        "lang": '"><svg onload=alert(1)> \\ "quoted"',
    },
    {
        "id": "\u202egnp.exe",
        "title": "\u202e bread \u2066",
        "text": "some bread \u0007\u0000\u001b[31m \u202e back to front.",
    },
    {"id": "w" * 300, "text": "some bread " + "x" * 5000 + " the end."},
    {
        "id": "\u05e9\u05dc\u05d5\u05dd",
        "text": "\u05dc\u05d7\u05dd \u0648\u062e\u0628\u0632 bread \u05d8\u05d5\u05d1.",
        "lang": "he",
    },
]


@pytest.fixture(scope="module")
def documents(sentences: list[str]) -> list[dict[str, Any]]:
    """Sixty documents, four of them hostile and three nearly those before."""
    made: list[dict[str, Any]] = []
    for number in range(53):
        text = " ".join(sentences[4 * number : 4 * number + 4])
        row = {"id": f"d{number}", "text": text, "lang": "de" if number % 3 else "en", "year": 2000 + number % 20}
        made.append({**row, "title": f"Note {number}"} if number % 2 else row)
    copies = [{**made[place], "id": f"copy {place}", "title": f"Copy {place}"} for place in (3, 8, 9)]
    return [*made, *copies, *HOSTILE]


@pytest.fixture(scope="module")
def server(made_once: Callable[..., Path], documents: list[dict[str, Any]]) -> Iterator[str]:
    """The address of a server process over two indexes of two encoders, which asks for a key."""
    folders = [
        made_once(f"notes-of-{model}", lambda out, model=model: Index.build(documents, out, model=model))
        for model in ("mini-sentence", "mini")
    ]
    command = [sys.executable, "-m", "mirrormask", "serve", *map(str, folders), "--port", "0", "--json"]
    environment = {**os.environ, "MIRRORMASK_API_KEYS": KEY}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("}") or (line.startswith("{") and line.rstrip().endswith("}")):
                break
        yield json.loads(said)["url"]
        process.terminate()


Open = Callable[..., AbstractContextManager[Any]]


@pytest.fixture
def at(browser: Any, server: str) -> Open:
    """Return a function that opens the page at a place of it, with the key: ``at("#search?q=bread")``."""
    return lambda place="", **options: opened(browser, f"{server}/{place}", **{"first": SIGNED, **options})


def ids(page: Any) -> list[str]:
    """Return the ids of the hits that are shown, opening nothing."""
    page.wait_for_selector(".hit")
    page.wait_for_selector(".asking", state="detached")
    return [each.get_attribute("data-id") for each in page.locator(".hit").all()]


def answer_of(page: Any, path: str, do: Callable[[], Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do something and return what it asked of the API and the answer."""
    with page.expect_response(lambda answer: answer.url.endswith(path) and answer.status == 200) as found:
        do()
    return found.value.request.post_data_json, found.value.json()


def test_hits_come_as_one_types_and_the_address_says_what_was_asked(at: Open) -> None:
    with at() as page:
        page.wait_for_selector("#query:focus")
        page.get_by_role("searchbox", name="Search").press_sequentially("the broken clock", delay=5)
        shown = ids(page)
        assert len(shown) == 10
        marks = {mark.lower() for mark in page.locator(".hit .passage mark").all_inner_texts()}
        assert marks == {"broken", "clock"}
        assert page.locator(".hit .why").first.get_attribute("aria-label").startswith("Found by ")
        assert page.inner_text(".count").startswith("The best 10 of 60")
        page.get_by_role("status").filter(has_text="10 hits for the broken clock").wait_for(state="attached")
        place = page.url
    assert "#search?q=the+broken+clock" in place
    with at(place[place.index("#") :]) as page:
        assert ids(page) == shown
        assert page.input_value("#query") == "the broken clock"
        page.get_by_role("button", name="Show 20 more").click()
        page.wait_for_selector(".hit >> nth=29")


def test_a_title_is_not_shown_twice_nor_the_empty_lines_after_it(at: Open) -> None:
    hit = {"id": "a", "passage": "Rain\n\n  It rains.", "matches": [[0, 4], [11, 16]], "metadata": {"title": "Rain"}}
    shown = """(hit) => import("/page/hits.js").then(({ parted }) => {
        const { heading, passage } = parted(hit);
        return [heading, passage].map((each) => [each.textContent, each.querySelector("mark").textContent]);
    })"""
    with at() as page:
        assert page.evaluate(shown, hit) == [["Rain", "Rain"], ["It rains.", "rains"]]


def test_an_answer_that_comes_too_late_is_not_shown(at: Open) -> None:
    with at() as page:
        failed: list[str] = []
        held: list[Any] = []
        page.on("requestfailed", lambda asked: failed.append(asked.post_data_json["query"]))
        page.route("**/api/search", lambda route: held.append(route) if not held else route.continue_())
        with page.expect_request("**/api/search"):
            page.fill("#query", "the gray cat")
        page.fill("#query", "two red apples")
        shown = ids(page)
        assert failed == ["the gray cat"], "the first question was cancelled"
        held[0].continue_()
        page.wait_for_timeout(300)
        assert ids(page) == shown
        assert "apples" in page.inner_text(".hit mark >> nth=0") or page.locator("mark", has_text="apples").count()


def test_filters_and_chips_become_conditions_that_the_hits_meet(at: Open) -> None:
    with at("#search?q=bread") as page:
        ids(page)
        asked, found = answer_of(page, "/api/search", lambda: page.get_by_role("checkbox", name="en").check())
        assert asked["where"] == '`lang` in ("en")'
        assert found["hits"] and {hit["metadata"]["lang"] for hit in found["hits"]} == {"en"}
        asked, found = answer_of(
            page,
            "/api/search",
            lambda: page.get_by_role("spinbutton", name="year from").fill("2010") or page.keyboard.press("Tab"),
        )
        assert asked["where"] == '`lang` in ("en") and `year` >= 2010'
        assert found["hits"] and min(hit["metadata"]["year"] for hit in found["hits"]) >= 2010
        ids(page)
        assert 'where.lang=["en"]&where.year={"from":2010}' in unquote(page.url)
        asked, _ = answer_of(page, "/api/search", lambda: page.get_by_role("button", name="Clear all filters").click())
        assert asked["where"] is None
        ids(page)
        strange = HOSTILE[0]["lang"]
        asked, found = answer_of(page, "/api/search", lambda: page.get_by_title(f"Only lang: {strange}").click())
        assert [hit["id"] for hit in found["hits"]] == [HOSTILE[0]["id"]], "no value can end its quotes"


def test_words_vectors_or_both_decide_why_something_is_found(at: Open) -> None:
    with at("#search?q=some+bread") as page:
        ids(page)
        for mode in ("words", "vectors"):
            switch = page.get_by_role("radio", name=mode)
            asked, _ = answer_of(page, "/api/search", partial(switch.check, force=True))
            assert asked["mode"] == mode
            ids(page)
            assert page.locator(".hit .why").first.get_attribute("aria-label") == f"Found by 100% {mode}"
            assert page.locator(".hit .bar i").first.get_attribute("class") == mode
            assert f"mode={mode}" in page.url


def test_more_like_one_hit_and_back(at: Open) -> None:
    with at("#search?q=the+broken+clock") as page:
        before = ids(page)
        asked, found = answer_of(
            page, "/api/similar", lambda: page.get_by_role("button", name="More like this").first.click()
        )
        assert asked["id"] == before[0]
        page.wait_for_selector(".banner")
        assert ids(page) == [hit["id"] for hit in found["hits"]] and before[0] not in ids(page)
        page.go_back()
        page.wait_for_selector(".banner", state="detached")
        assert ids(page) == before


def test_the_keyboard_alone_is_enough(at: Open) -> None:
    with at("#search?q=the+broken+clock") as page:
        shown = ids(page)
        focused = "document.activeElement.closest('.hit')?.dataset.id ?? document.activeElement.id"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) == shown[1]
        page.keyboard.press("Enter")
        assert page.locator(".hit").nth(1).get_by_role("button", expanded=True).count() == 1
        assert page.inner_text(".facts dd >> nth=0") == shown[1]
        page.keyboard.press("End")
        assert page.evaluate(focused) == shown[-1]
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", "where one is can be seen"
        page.keyboard.press("Escape")
        assert page.evaluate(focused) == "query"
        page.keyboard.press("Escape")
        page.wait_for_selector(".state h2")
        assert page.input_value("#query") == "" and page.inner_text(".state h2") == "Search 60 documents"
        page.locator("#theme").focus()
        page.keyboard.press("/")
        assert page.evaluate(focused) == "query"


def test_every_control_has_a_name(at: Open) -> None:
    for place in ("#search?q=bread", "#compare?q=bread", "#duplicates", "#similarity", "#probe"):
        with at(place) as page:
            page.wait_for_selector("main > section")
            page.wait_for_selector(".asking, .working", state="detached")
            heard = page.locator("body").aria_snapshot()
            nameless = [
                line
                for line in heard.splitlines()
                if line.strip(" -:")
                in ("button", "textbox", "checkbox", "combobox", "link", "searchbox", "img", "radio", "spinbutton")
            ]
            assert 'navigation "Views"' in heard and not nameless, nameless


def test_two_encoders_side_by_side_with_lines_between_the_same(at: Open) -> None:
    with at() as page:
        page.get_by_role("link", name="Compare").click()
        _, found = answer_of(page, "/api/compare", lambda: page.fill("#query", "the old baker"))
        page.wait_for_selector(".row")
        left, right = [[hit["id"] for hit in answer["hits"]] for answer in found["answers"]]
        sides = page.locator(".sides ol")
        assert [sides.nth(side).locator(".row").count() for side in (0, 1)] == [len(left), len(right)] == [10, 10]
        shared = set(left) & set(right)
        assert page.locator(".lines path").count() == len(shared)
        assert page.inner_text(".count").startswith(f"{len(shared)} of 10 are found by both")
        assert page.get_by_text("only here").count() == 20 - 2 * len(shared)


def test_the_map_lights_what_was_found_and_leads_to_more_like_it(at: Open) -> None:
    with at("#search?q=the+broken+clock") as page:
        first = ids(page)[0]
        page.get_by_role("button", name="On the map").first.click()
        page.wait_for_selector(".map-tip.pinned")
        assert first in page.inner_text(".map-tip footer")
        page.get_by_text("The best 10 hits for the broken clock").wait_for()
        assert page.locator(".map-list li").count() > 1
        page.locator(".map-tip").get_by_role("button", name="More like this").click()
        page.wait_for_selector(".banner")
        assert page.inner_text(".banner b") == first


def test_near_duplicates_are_shown_with_what_differs(at: Open) -> None:
    with at("#duplicates") as page:
        page.wait_for_selector(".group")
        for more in page.locator(".group > .quiet").all():
            more.click()
        together = [set(each.locator(".id").all_inner_texts()) for each in page.locator(".group").all()]
        for place in (3, 8, 9):
            group = next(n for n, group in enumerate(together) if f"copy {place}" in group)
            assert f"d{place}" in together[group]
        changed = page.locator(".group ins").all_inner_texts()
        assert any("Copy" in each for each in changed)


def test_a_sentence_is_probed_and_drawn(at: Open) -> None:
    with at("#probe") as page:
        page.get_by_role("textbox", name="A sentence").fill("the old <b>boat</b> crossed the river")
        _, found = answer_of(page, "/api/probe", lambda: page.keyboard.press("Enter"))
        words = found["words"]
        page.wait_for_selector(".heat")
        assert page.locator(".heat tbody th").all_inner_texts() == words
        assert page.locator(".heat td[data-row]").count() == len(words) * (len(words) - 1)
        assert page.locator(".heat td.marked").count() == len(words) - 1, "a dot for each head but the root's"
        assert page.locator(".tree path.arc:not(.filled)").count() == len(words) - 1
        assert page.locator(".tree circle.phrase").count() >= len(found["spans"])
        assert page.inner_text(".verdict span") == found["brackets"]
        page.hover(".heat td[data-row] >> nth=3")
        assert page.inner_text(".readout").startswith("Masking “")


def test_texts_are_compared_each_with_each(at: Open) -> None:
    with at("#similarity") as page:
        page.fill("#texts", "the gray cat\nthe gray cat\nsome bread every winter")
        page.get_by_role("button", name="Compare them").click()
        page.wait_for_selector(".heat")
        cells = page.locator(".heat td[data-row]").all_inner_texts()
        assert len(cells) == 6 and cells[0] == "1.00" and float(cells[1]) < 0.999


def test_hostile_texts_are_read_and_not_run(at: Open) -> None:
    with at("#search?q=bread&mode=words") as page:
        ids(page)
        page.get_by_role("button", name="Show 20 more").click()
        page.wait_for_selector(".hit >> nth=12")
        shown = ids(page)
        for row in HOSTILE:
            hit = page.locator(".hit").nth(shown.index(row["id"]))
            hit.locator(".title").click()
            facts = dict(zip(hit.locator("dt").all_text_contents(), hit.locator("dd").all_text_contents(), strict=True))
            assert facts["id"] == row["id"]
            assert facts.get("lang") == row.get("lang")
            passage = hit.locator(".passage").text_content()
            assert passage in row["text"] and (passage == row["text"] or len(row["text"]) > 1000)
            assert hit.locator("mark").last.text_content() == "bread", "marks stand at the words, also after rare signs"
        ran = "[window.hit ?? null, document.querySelectorAll('main img, main script, main style').length]"
        assert page.evaluate(ran) == [None, 0]


@pytest.mark.parametrize(
    "place", ["#search?q=bread", "#compare?q=bread", "#map?q=bread", "#duplicates", "#probe?text=some+bread"]
)
def test_a_phone_shows_it_all_without_scrolling_sideways(at: Open, place: str) -> None:
    with at(place, **PHONE) as page:
        page.wait_for_selector("main > section")
        page.wait_for_selector(".asking, .working", state="detached")
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_it_is_dark_where_the_system_is_and_as_it_was_left(at: Open) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with at(color_scheme="dark") as page:
        assert page.evaluate(ground) == "rgb(16, 19, 23)"
        page.get_by_role("button", name="Dark").click()
        assert page.evaluate(ground) == "rgb(251, 251, 249)"
        page.reload()
        assert page.evaluate(ground) == "rgb(251, 251, 249)"


def test_a_key_is_asked_for_and_a_wrong_one_is_told(at: Open) -> None:
    with at("#search?q=bread", first="") as page:
        page.get_by_role("dialog").wait_for()
        field = page.get_by_role("textbox", name="API key")
        field.fill("not-the-right-key")
        page.keyboard.press("Enter")
        page.locator("#key-told", has_text="key").wait_for()
        field.fill(KEY)
        page.get_by_role("button", name="Use it").click()
        assert len(ids(page)) == 10
        page.reload()
        assert len(ids(page)) == 10, "it is kept as long as the tab is open"


def test_what_the_server_refuses_is_said_with_a_way_out(at: Open) -> None:
    with at('#search?q=bread&where.nothing=["x"]') as page:
        page.wait_for_selector(".state h2")
        assert "have no column 'nothing'" in page.inner_text(".state")
        page.get_by_role("button", name="Clear the filters").click()
        assert len(ids(page)) == 10


def test_nothing_is_allowed_but_files_of_the_server(at: Open) -> None:
    with at() as page:
        answer = page.goto(page.url)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy
        assert page.evaluate("document.querySelectorAll('[style], [onclick], script:not([src]), style').length") == 0
