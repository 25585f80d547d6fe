"""A Python environment that publishes a fastmcp server; it says where it is served as `hud serve` does."""

import asyncio
import socket
import sys

from fastmcp import Context, FastMCP
from fastmcp.server.auth import StaticTokenVerifier
from hud.capabilities import Capability
from hud.environment import Environment
from hud.environment.server import serve

TRANSPORT = sys.argv[1]
auth = StaticTokenVerifier({"secret": {"client_id": "test", "scopes": []}})
server = FastMCP(name="calculator", auth=auth)


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool
async def count(to: int, context: Context) -> str:
    """Count, and tell how far it is."""
    for i in range(to):
        await context.report_progress(i + 1, to)
        await asyncio.sleep(0.01)
    return str(to)


@server.tool
def fail() -> str:
    """Fail."""
    raise ValueError("as told")


@server.tool
def big(mb: int) -> str:
    """Return much."""
    return "A" * (mb * 1024 * 1024)


@server.resource("test://greeting")
def greeting() -> str:
    """Greet."""
    return "hello"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def listening(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.05)


env = Environment(name="calc")
port = free_port()


@env.initialize
async def up() -> None:
    run = server.run_async(transport=TRANSPORT, host="127.0.0.1", port=port, show_banner=False)
    env.task = asyncio.create_task(run)
    await listening(port)
    path = "sse" if TRANSPORT == "sse" else "mcp"
    transport = "sse" if TRANSPORT == "sse" else "streamable-http"
    url = f"http://127.0.0.1:{port}/{path}"
    env.add_capability(Capability.mcp(url=url, auth_token="secret", transport=transport))


asyncio.run(serve(env))
