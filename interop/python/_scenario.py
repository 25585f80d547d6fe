"""Runs the functions of a program as they are asked for: a JSON array `[name, ...args]` a line, a reply a line."""

import asyncio
import json
import os
import sys
import traceback


def main(functions):
    # Nothing else may write to standard output between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    async def serve():
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            name, *args = json.loads(line)
            try:
                reply = {"result": await functions[name](*args)}
            except Exception:
                reply = {"error": traceback.format_exc()}
            replies.write(json.dumps(reply) + "\n")
            replies.flush()

    asyncio.run(serve())
