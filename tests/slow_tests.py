"""Which tests are slow: `python tests/slow_tests.py REPORT.xml` writes slow_tests.txt from pytest's --junitxml report.

A test (with all its parameters together) is slow from a tenth of a second on. Take the report of a quiet machine. What
a fixture takes counts for the first test that asks for it: a file that needs a costly one has `pytestmark` instead.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

FROM = 0.1  # seconds
HERE = Path(__file__).resolve().parent


def main(report: str) -> None:
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        if (HERE.parent / file).is_file() and file.startswith("tests/"):
            seconds[f"{file}::{case.get('name', '').partition('[')[0]}"] += float(case.get("time", 0))
    slow = sorted(name for name, spent in seconds.items() if spent >= FROM)
    (HERE / "slow_tests.txt").write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
    left = sum(spent for spent in seconds.values() if spent < FROM)
    print(f"{len(slow)} of {len(seconds)} tests are slow; the others take {left:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1])
