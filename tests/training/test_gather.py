from __future__ import annotations

import torch

from mirrormask.training.gather import _GatherRows, alone, gather_rows, own_rows, world


def test_one_process_keeps_its_rows() -> None:
    rows = torch.randn(3, 2, requires_grad=True)
    assert world() == (0, 1)
    assert gather_rows(rows) is rows


def test_alone_can_be_nested_and_is_left_after_an_error(monkeypatch: object) -> None:
    from mirrormask.training import gather

    with alone():
        with alone():
            assert gather._alone
        assert gather._alone
    assert not gather._alone
    try:
        with alone():
            raise KeyError
    except KeyError:
        pass
    assert not gather._alone


def test_uneven_rows_of_three_processes_and_their_gradients() -> None:
    """Three processes with 2, 3 and 1 rows in one: what each would send is given by hand."""
    import pytest
    import torch.distributed as dist

    parts = [torch.arange(float(2 * n)).view(n, 2) + 10 * rank for rank, n in enumerate((2, 3, 1))]
    counts = [2, 3, 1]
    sent: list[torch.Tensor] = []

    def all_gather(out: list[torch.Tensor], mine: torch.Tensor) -> None:
        sent.append(mine.clone())
        for place, part in zip(out, parts, strict=True):
            place.zero_()
            place[: len(part)] = part

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "all_gather", all_gather)
        patch.setattr(dist, "all_reduce", lambda gradient: gradient.mul_(3))  # all three send the same
        patch.setattr(dist, "get_rank", lambda: 1)
        rows = parts[1].clone().requires_grad_()
        joint = _GatherRows.apply(rows, counts)  # type: ignore[no-untyped-call]
        assert torch.equal(joint, torch.cat(parts))
        assert sent[0].shape == (3, 2)
        weights = torch.arange(12.0).view(6, 2)
        (joint * weights).sum().backward()
    assert rows.grad is not None
    assert torch.equal(rows.grad, 3 * weights[2:5])


def test_a_process_finds_its_own_rows_among_all() -> None:
    """The second of three processes with 2, 3 and 1 rows; one alone has all of them."""
    import pytest
    import torch.distributed as dist

    from mirrormask.training import gather

    joint = torch.arange(12.0).view(6, 2).requires_grad_()
    assert own_rows(joint, 6) is joint

    def all_gather(out: list[torch.Tensor], mine: torch.Tensor) -> None:
        assert mine.tolist() == [3]
        for place, count in zip(out, (2, 3, 1), strict=True):
            place.fill_(count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "all_gather", all_gather)
        patch.setattr(gather, "world", lambda: (1, 3))
        found = own_rows(joint, 3)
    assert torch.equal(found, joint[2:5])
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert joint.grad is not None
    assert joint.grad.sum(dim=1).tolist() == [0, 0, 2, 2, 2, 0]
