"""The page `test-your-handlers.md` tells the truth: its files, written to a folder, are a green test run."""

from pathlib import Path

from .project import PAGE, blocks, run_pytest, write


def test_every_block_is_a_file_of_its_own() -> None:
    assert PAGE.read_text(encoding="utf-8").count("```python\n") == len(blocks())


def test_the_page_runs_as_written(tmp_path: Path) -> None:
    result = run_pytest(write(tmp_path, **blocks()))
    assert result.returncode == 0, result.stdout
    assert "9 passed" in result.stdout
    assert not (tmp_path / "jobs.db").exists()


def test_a_handler_that_is_not_idempotent_is_caught(tmp_path: Path) -> None:
    files = blocks()
    files["jobs"] = files["jobs"].replace("if article not in published:", "if True:")
    result = run_pytest(write(tmp_path, **files), "test_jobs.py")
    assert result.returncode == 1
    assert "assert ['article-1', 'article-1'] == ['article-1']" in result.stdout


def test_the_mail_that_the_page_warns_of_goes_out_twice(tmp_path: Path) -> None:
    files = blocks()
    files["test_jobs"] = files["test_jobs"].replace("publish", "mail")  # mail, mailed, mailing
    result = run_pytest(write(tmp_path, **files), "test_jobs.py")
    assert result.returncode == 1
    assert "assert ['article-1', 'article-1'] == ['article-1']" in result.stdout
