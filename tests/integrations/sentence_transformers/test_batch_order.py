"""Batches are those of sentence-transformers' samplers, in every epoch and for any step that a run resumes from."""

from types import SimpleNamespace

import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler

from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import SentenceTransformerTrainingArguments
from likewise.integrations.sentence_transformers.training.batch_order import (
    OrderedSource,
    PeerSchedule,
    Sampling,
    _shuffled,
    _without_duplicates,
    batch_count,
    label_groups,
)

ROWS = SimpleNamespace(take=list)


def source(*columns, labels=None):
    return OrderedSource(rows=ROWS, objective=None, texts=columns, labels=labels)


def numbered(count, first=0):
    return source([f"a{i}" for i in range(first, first + count)], [f"b{i}" for i in range(first, first + count)])


@pytest.mark.parametrize("count", [1, 4, 7, 8])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shuffled_batches_are_torchs_own(count, drop_last):
    ours, theirs = (torch.Generator().manual_seed(3) for _ in range(2))
    sampler = BatchSampler(RandomSampler(range(count), generator=theirs), 4, drop_last)
    for _ in range(2):  # the second one goes on with the same generator
        assert list(_shuffled(Sampling(numbered(count), 4, drop_last, ours, 3))) == list(sampler)
    assert batch_count("batch_sampler", numbered(count), 4, drop_last) == len(sampler)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_without_duplicates_no_text_comes_twice_in_a_batch_and_every_row_once(drop_last, seed):
    rows = source(list("abcabcxyzx"), list("1234512345"))
    batches = list(_without_duplicates(Sampling(rows, 3, drop_last, torch.Generator(), seed)))
    for batch in batches:
        texts = [text for row in batch for text in {column[row] for column in rows.texts}]
        assert len(texts) == len({*texts}) and (len(batch) == 3 or not drop_last)
    if not drop_last:
        assert sorted(row for batch in batches for row in batch) == list(range(10))
    assert batches == list(_without_duplicates(Sampling(rows, 3, drop_last, torch.Generator(), seed)))
    assert batches != list(_without_duplicates(Sampling(rows, 3, drop_last, torch.Generator(), seed + 10)))


@pytest.mark.parametrize(("same", "others", "batches"), [(5, 3, 4), (7, 1, 3), (8, 0, 0), (4, 4, 4), (0, 8, 4)])
def test_data_are_shuffled_twice_more_while_they_give_too_few_full_batches(same, others, batches):
    rows = source(["same"] * same + [str(i) for i in range(others)])
    found = list(_without_duplicates(Sampling(rows, 2, True, torch.Generator(), 0)))
    assert len(found) == batches
    kept = list(_without_duplicates(Sampling(rows, 2, False, torch.Generator(), 0)))
    assert sorted(row for batch in kept for row in batch) == list(range(8)), "one pass, with partial batches"


def test_labels_need_an_even_batch_of_four_and_two_rows_of_two_labels():
    labels = [0.0, 0.0, 1.0, 1.0, 1.0, 2.0]
    assert label_groups(source([""] * 6, labels=labels), 4) == {0.0: [0, 1], 1.0: [2, 3, 4]}
    for size in (2, 3, 5):
        with pytest.raises(BadInput, match=f"the batch size is {size}; .*an even batch size of at least 4"):
            label_groups(source([""] * 6, labels=labels), size)
    for few, number in ((None, 0), (labels[:3], 1)):
        with pytest.raises(BadInput, match=f"found {number}$"):
            label_groups(source([""] * 6, labels=few), 4)
    counted = [0.0] * 9 + [1.0] * 4 + [2.0] * 2 + [3.0] * 2  # 4 + 4 + 2 + 2 rows: turns while two have rows left
    for size, drop_last, count in ((4, True, 3), (4, False, 3), (8, True, 1), (8, False, 2), (10, False, 1)):
        assert batch_count("group_by_label", source([""] * 17, labels=counted), size, drop_last) == count


def schedule(*sources, size=4, **arguments):
    return PeerSchedule(sources, SentenceTransformerTrainingArguments("out", **arguments), size)


@pytest.mark.parametrize("mixed", ["proportional", "round_robin"])
@pytest.mark.parametrize("counts", [(10,), (10, 5), (9, 4, 12)])
def test_several_data_sets_are_mixed(mixed, counts):
    made = schedule(*map(numbered, counts), multi_dataset_batch_sampler=mixed)
    batches = list(made.epoch(0))
    owners, sizes = [k for k, _ in batches], [-(-count // 4) for count in counts]
    if mixed == "round_robin":
        least = min(sizes)
        assert owners == [*range(len(counts))] * least and made.batches_per_epoch == least * len(counts)
    else:
        assert [owners.count(k) for k in range(len(counts))] == sizes and made.batches_per_epoch == sum(sizes)
        for k, count in enumerate(counts):
            assert sorted(row for owner, rows in batches if owner == k for row in rows) == list(range(count))
    assert batches == list(made.epoch(0)) != list(made.epoch(1))
    later = schedule(*map(numbered, counts), multi_dataset_batch_sampler=mixed, seed=43)
    assert list(later.epoch(0)) == list(made.epoch(1))


@pytest.mark.parametrize("per_step", [1, 2, 3])
def test_a_run_may_begin_with_any_step(per_step):
    made = schedule(numbered(18), numbered(7))  # 5 + 2 batches an epoch
    per_epoch = -(-7 // per_step)
    assert made.steps_per_epoch(per_step) == per_epoch
    whole = list(made.steps(0, 2 * per_epoch + 1, per_step))
    sizes = [per_step] * (7 // per_step) + [7 % per_step] * (7 % per_step > 0)
    assert [len(step) for step in whole] == [*sizes, *sizes, per_step]
    order = [(made.sources[k], rows) for epoch in (0, 1) for k, rows in made.epoch(epoch)]
    assert [batch for step in whole[:-1] for batch in step] == order
    for start in range(len(whole)):
        for end in range(start, len(whole)):
            assert list(made.steps(start, end, per_step)) == whole[start:end]


def test_too_few_rows_for_a_batch_are_refused():
    with pytest.raises(BadInput, match="3 rows do not fill a batch of 4; lower the batch size"):
        schedule(numbered(3), dataloader_drop_last=True)
    assert schedule(numbered(4), dataloader_drop_last=True).batches_per_epoch == 1
    same = schedule(source(["same"] * 8), batch_sampler="no_duplicates", dataloader_drop_last=True)
    with pytest.raises(BadInput, match="epoch 0 has too few batches of 4 rows without duplicates"):
        list(same.steps(0, 2, 1))
