"""One job of a sweep: it speaks into files, ends by itself, and takes no neighbour along.

<sweep>/<number>/job.json        what it is, and how it ended
<sweep>/<number>/traceback.txt   of a crash
<store>/<run-id>/log.txt         what it would have said on the terminal
"""

import json
import os
import select
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from normtrial import identity
from normtrial.config import Config, Job
from normtrial.records import RunFolder, to_json, write_text

Note = dict[str, Any]
LOOK_AGAIN_S = 0.5  # whether the sweep lives
Work = Callable[[Config, Note], float | None]


def as_job(job: Job, configure: Callable[[], Config], work: Work) -> float | None:
    """Do the work of a job and leave a note about it; a crash is in the note, for whoever reads it at the end.

    `work` is given the configuration and the note, in which it writes run id and status.
    """
    assert job.stop is not None
    if job.stop.exists():
        return None
    return apart(lambda: noted(job, configure, work), job.stop) if job.pooled else noted(job, configure, work)


def noted(job: Job, configure: Callable[[], Config], work: Work) -> float | None:
    """The work between two notes; where only the first is found, the process died."""
    assert job.folder is not None and job.stop is not None
    note: Note = {"number": job.number, "command": " ".join(job.command), "status": "running", "pid": os.getpid()}
    value, on_failure = None, "continue"
    write_text(job.folder / "job.json", to_json(note))
    try:
        config = configure()
        on_failure = config.sweep.on_failure
        note["name"] = identity.run_name(config)
        value = work(config, note)
    except Exception as error:
        note |= {"status": "crashed", "error": f"{type(error).__name__}: {error}"}
        (job.folder / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
        if on_failure == "stop":
            job.stop.touch()
    except BaseException:
        note["status"] = "interrupted"
        raise
    finally:
        write_text(job.folder / "job.json", to_json(note))
    if not job.watched:
        print(f"[{job.number}] {note.get('name')} {note['status']} {note.get('run_id', '')}", flush=True)
    if note["status"] == "interrupted" and not job.parallel:
        raise KeyboardInterrupt  # jobs one after the other: the rest is not begun
    return value


def apart(work: Callable[[], float | None], stop: Path) -> float | None:
    """Do the work in a process that is nobody's child, and wait for it; None where it was killed.

    When one worker of a pool dies, the pool kills the others and their children. What trains is none of these, so
    it costs nobody else a step; and where a worker is killed, its run goes on and is found finished. When the
    sweep itself is killed, the worker makes the file `stop` in its place.
    """
    sweep = os.getppid()
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            if os.fork() == 0:
                os.write(writer, json.dumps(work()).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        while not select.select([answer], [], [], LOOK_AGAIN_S)[0]:
            if os.getppid() != sweep:
                stop.touch()
        text = answer.read()  # ends with the process, however that ends
    return json.loads(text) if text else None


def log_of(job: Job, folder: RunFolder) -> AbstractContextManager[None]:
    """Where this run speaks: in a sweep into its folder, for jobs would talk at once."""
    return nullcontext() if job.sweep is None else logged(folder, whole_process=job.pooled)


@contextmanager
def logged(folder: RunFolder, whole_process: bool) -> Iterator[None]:
    """Add all that is printed to the run's `log.txt`, and the traceback of a crash.

    `whole_process` takes along what libraries print past Python, and for good: the process has no other work.
    """
    folder.path.mkdir(parents=True, exist_ok=True)
    with folder.log_path.open("a", buffering=1, encoding="utf-8") as file:
        if whole_process:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        with redirect_stdout(file), redirect_stderr(file):
            try:
                yield
            except Exception:
                traceback.print_exc(file=file)
                raise
