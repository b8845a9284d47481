"""What pyproject.toml cannot say: the records behind the tables are part of the built package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithRecords(build_py):
    """Copies `results/` into a built package; an editable install reads it where it is."""

    def run(self) -> None:
        """Build the package, and put the records of runs and the paper's numbers beside its modules."""
        super().run()
        if not self.editable_mode:
            for path in [*ROOT.glob("results/*.json"), *ROOT.glob("results/runs/*.json")]:
                target = Path(self.build_lib) / "afk" / "records" / path.relative_to(ROOT / "results")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


setup(cmdclass={"build_py": BuildWithRecords})
