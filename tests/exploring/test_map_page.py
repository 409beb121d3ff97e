"""The page of a map, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.browser import opened
from tests.exploring.test_text_map import HOSTILE

from mirrormask.exploring.text_map import TextMap
from mirrormask.exploring.texts import Texts

LIT = "Number(document.querySelector('.map-found').textContent.split(' ')[0])"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with two groups, the texts of the second hostile."""
    texts = [f"The rain of day {number} fell on the oven." for number in range(20)] + [*HOSTILE] * 4
    turns = np.linspace(0, 6, len(texts))
    places = np.stack([0.5 + 0.4 * np.cos(turns), 0.5 + 0.4 * np.sin(turns)], axis=1).astype(np.float32)
    groups = np.array([0] * 20 + [1] * 12)
    drawn = TextMap(Texts("x", texts, [f"row {row}" for row in range(32)]), places, groups, ("rain, oven", HOSTILE[0]))
    path = tmp_path_factory.mktemp("map") / "map.html"
    drawn.save(path, "Days & <b>nights</b>")
    return path.as_uri()


def test_words_are_found_marked_and_gone_through_by_keys(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        assert page.inner_text("h1") == "Days & <b>nights</b>"
        assert page.inner_text(".map-facts") == "32 texts in 2 groups"
        page.keyboard.press("/")
        page.keyboard.type("day 1")
        assert page.inner_text(".map-found").startswith("11 of 32 texts")
        page.keyboard.press("Enter")
        page.wait_for_selector(".map-tip.shown.pinned")
        assert page.locator(".map-tip mark").all_inner_texts() == ["day", "1"]
        assert page.inner_text(".map-tip footer") == "row 1 · rain, oven"
        page.keyboard.press("Escape")
        assert page.inner_text(".map-found") == ""
        assert page.evaluate("document.activeElement.getAttribute('role')") == "application"


def test_a_group_is_chosen_and_hostile_texts_are_read_not_run(browser: Any, address: str) -> None:
    with opened(browser, address) as page:
        row = page.locator(".map-list button").nth(1)
        assert row.inner_text().startswith(HOSTILE[0])
        row.click()
        assert row.get_attribute("aria-pressed") == "true"
        page.fill(".map-query", "img")
        assert page.evaluate(LIT) == 4
        page.keyboard.press("Enter")
        assert "<img src=x onerror=alert(1)>" in page.inner_text(".map-tip p")
        assert page.evaluate("[window.hit, document.images.length]") == [None, 0]


def test_the_page_is_dark_where_the_system_is_and_can_be_switched(browser: Any, address: str) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, address, color_scheme="dark") as page:
        assert page.evaluate(ground) == "rgb(16, 19, 23)"
        page.click(".map-theme")
        assert page.evaluate(ground) == "rgb(251, 251, 249)"


def test_points_are_drawn_and_a_click_keeps_the_text_shown(browser: Any, address: str) -> None:
    with opened(browser, address, viewport={"width": 390, "height": 700}) as page:
        page.locator(".map-points").press("0")
        page.mouse.move(195 + 0.4 * 0.88 * 390, 350)  # the first text lies rightmost
        page.wait_for_selector(".map-tip.shown")
        page.mouse.down()
        page.mouse.up()
        page.wait_for_selector(".map-tip.pinned")
        assert page.inner_text(".map-tip p") == "The rain of day 0 fell on the oven."
        assert page.evaluate("document.documentElement.scrollWidth") == 390
