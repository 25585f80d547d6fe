"""The peer's own launcher of child processes, around a program of another language."""

import sys

import _scenario
from hud.clients import connect
from hud.eval import Task
from hud.eval.runtime import SubprocessRuntime


async def launched(program, source):
    """Starts the program as the peer starts its servers, drives a task, and ends it as the peer does."""
    sys.executable = program
    runtime = SubprocessRuntime(source, env="exam")
    async with runtime(Task(env="exam", id="add", args={})) as placed:
        async with connect(placed) as client:
            await client.start_task("add", {"a": 1})
            score = (await client.grade({"answer": "2"}))["score"]
            # Left suspended: ending the server has to clean it up.
            await client.start_task("add", {"a": 1})
    return score


async def refused(program, source):
    """A program that ends before it serves."""
    sys.executable = program
    try:
        async with SubprocessRuntime(source, env="exam")(Task(env="exam", id="add", args={})):
            return "served"
    except RuntimeError as error:
        return str(error)


if __name__ == "__main__":
    _scenario.main(globals())
