"""The peer's client, as its users write it: prints what it found as one line of JSON."""

import asyncio
import json
import sys

from hud.clients import connect
from hud.eval.runtime import Runtime


async def main(url: str) -> None:
    async with connect(Runtime(url)) as client:
        tools = await client.open("mcp")
        names = [tool.name for tool in await tools.list_tools()]

        async def call(name: str, arguments: dict | None = None) -> dict:
            result = await tools.call_tool(name, arguments or {})
            return result.model_dump(mode="json")

        async def text(name: str, arguments: dict) -> str:
            return (await call(name, arguments))["content"][0]["text"]

        report = {
            "bindings": [
                {"name": b.name, "url": b.url, "params": b.params} for b in client.manifest.bindings
            ],
            "tools": names,
            "sum": await call("add", {"a": 2, "b": 3}),
        }
        if "echo" in names:
            image = (await call("big", {"mb": 5, "kind": "image"}))["content"][0]
            sums = await asyncio.gather(*(text("add", {"a": i, "b": 1}) for i in range(50)))
            report |= {
                "failed": await call("test_error_handling"),
                "image": {"type": image["type"], "length": len(image["data"])},
                "echoed": await text("echo", {"s": "grüße 🌍"}),
                "parallel": [int(s) for s in sums],
            }
            try:
                report["error"] = json.dumps(await call("nothing"))
            except Exception as error:
                report["error"] = str(error)
        print(json.dumps(report))


asyncio.run(main(sys.argv[1]))
