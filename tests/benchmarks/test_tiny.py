"""What a tiny training costs: seconds of a whole run by its steps, its peak memory, what the memory queue adds."""

import resource
import time

import itmlab
from itmlab.synthesis import SynHNC

STEPS = 12


def test_a_tiny_recipe_trains_in_minutes(benchmark, tmp_path, capsys):
    data = itmlab.load("scenes", images=1200).split("train")  # 31 steps an epoch: all are of its first
    fne, plain = (recipe.replace(data__validation=0) for recipe in (itmlab.recipe("fne"), itmlab.recipe("hardest")))
    seconds = {}

    def run() -> None:
        for name, recipe in {"fne": fne, "hardest": plain}.items():
            itmlab.train(recipe, data, tmp_path / name / "first", progress=False, max_steps=2)  # decodes, allocates
            began = time.perf_counter()
            itmlab.train(recipe, data, tmp_path / name / "timed", progress=False, max_steps=STEPS)
            seconds[name] = (time.perf_counter() - began) / STEPS

    benchmark.pedantic(run)
    steps = itmlab.recipe("fne").data.steps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    with capsys.disabled():
        print(f"\na tiny step with FNE's memory: {seconds['fne'] / seconds['hardest']:.2f} times one without")
        print(
            f"{steps} steps of tiny FNE: {steps * seconds['fne']:.0f} s (bound: 300 s), peak {peak:.1f} GiB (bound: 3)"
        )


def test_the_stages_of_tags_dc_train_in_five_minutes_of_one_core_each(tmp_path, capsys):
    data = itmlab.load("scenes", images=240, regions="detector").split("train")
    shown = []
    for name in ("uniter", "tags", "tags_dc"):
        recipe = itmlab.recipe(name).replace(start=None, data__captions_per_image="all")
        took = {}
        for run, steps in {"first": 2, "short": 2, "long": 2 + STEPS}.items():  # the first reads regions and parses
            began = time.process_time()
            itmlab.train(recipe, data, tmp_path / name / run, progress=False, max_steps=steps)
            took[run] = time.process_time() - began
        seconds = (took["long"] - took["short"]) / STEPS * recipe.data.steps
        shown.append(f"{recipe.data.steps} steps of {name}: {seconds:.0f} s")
    with capsys.disabled():
        print(f"\n{'; '.join(shown)} of all cores together (bound: 300 s of each)")


def test_each_encoder_that_reads_apart_trains_in_five_minutes(tmp_path, capsys, monkeypatch):
    data = itmlab.load("scenes", images=480, regions=True).split("train")
    synthesise, syntheses, lines = SynHNC.__call__, [0.0], []

    def timed(self, *arguments, **options):
        began = time.perf_counter()
        negatives = synthesise(self, *arguments, **options)
        syntheses[0] += time.perf_counter() - began
        return negatives

    monkeypatch.setattr(SynHNC, "__call__", timed)
    for name in ("scan+syn+info", "sgraf+syn+info", "vsrn+syn+info", "vsepp+syn+info", "itcontrast"):
        # the warm-up spreads the features, as it does in a whole run: of features all alike SynHNC takes longer
        settings, epochs = itmlab.recipe(name).data, []
        recipe = itmlab.recipe(name).replace(data__warm_up_epochs=2, data__epochs=3)

        def record_epoch(record, epochs=epochs):
            if record["kind"] == "epoch":
                epochs.append((time.perf_counter(), syntheses[0]))

        itmlab.train(recipe, data, tmp_path / name, progress=False, on_record=record_epoch)
        (first, _), (second, before), (third, after) = epochs
        batches, of_warm_up = len(data) // settings.batch_size, settings.warm_up_epochs
        per_epoch = 5000 // settings.batch_size / batches
        seconds = per_epoch * (of_warm_up * (second - first) + (settings.epochs - of_warm_up) * (third - second))
        share = (after - before) / (third - second)
        lines.append(f"{name}: {seconds:.0f} s (bound: 300 s), making SynHNC's {share:.0%} of a step")
    with capsys.disabled():
        print("", *lines, sep="\n")
