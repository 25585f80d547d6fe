"""SSH clients of Python's on a workspace: the peer's own, asyncssh and paramiko. One function a scenario."""

import asyncio
import contextlib
import hashlib
import io

import _scenario
import asyncssh
import paramiko
from hud.clients import connect
from hud.eval.runtime import Runtime


@contextlib.asynccontextmanager
async def opened(url):
    async with connect(Runtime(url)) as client:
        yield await client.open("ssh")


async def binding(url):
    async with connect(Runtime(url)) as client:
        capability = client.binding("shell")
        return {"url": capability.url, "protocol": capability.protocol, "params": sorted(capability.params)}


async def commands(url):
    """Runs, outputs, exit codes, input; the session's folder and user."""
    async with opened(url) as shell:
        both = await shell.run("pwd; echo $USER; echo oops >&2; exit 3")
        fed = await shell.run("tr a-z A-Z", input="shout")
        return [both.stdout, both.stderr, both.exit_status, fed.stdout]


async def files(url):
    async with opened(url) as shell:
        await shell.write_text("notes.txt", "première\n")
        await shell.write_text("empty.txt", "")
        return [await shell.read_text("notes.txt"), await shell.read_text("empty.txt"), await shell.listdir(".")]


async def timed_out(url):
    """The peer ends a command that takes too long by a signal, and goes on."""
    async with opened(url) as shell:
        try:
            await shell.run("sleep 60", timeout=0.5)
            outcome = "ended"
        except TimeoutError:
            outcome = "timed out"
        gone = await shell.run("pgrep -x sleep || echo gone")
        return [outcome, gone.stdout]


async def streams(url):
    """A process whose output is read as it comes, and which reads what is written to it."""
    async with opened(url) as shell:
        process = await shell.create_process("while read -r line; do echo \"got $line\"; done")
        seen = []
        for word in (b"one", b"two"):
            process.stdin.write(word + b"\n")
            seen.append((await process.stdout.readline()).decode())
        process.stdin.write_eof()
        await process.wait()
        return [seen, process.exit_status]


async def reconnected(url):
    """The connection is cut; the next command makes a new one."""
    async with opened(url) as shell:
        shell.conn.abort()
        await shell.conn.wait_closed()
        return (await shell.run("echo back")).stdout


async def together(url):
    async with opened(url) as shell:
        results = await asyncio.gather(*(shell.run(f"echo {i}; exit {i % 7}") for i in range(40)))
        return [[r.stdout, r.exit_status] for r in results]


async def transferred(url, size):
    """SFTP by asyncssh, through the peer's forwarder: the same bytes come back."""
    data = bytes(i * 7 % 251 for i in range(1 << 16)) * (size >> 16)
    async with opened(url) as shell, shell.conn.start_sftp_client() as sftp:
        async with sftp.open("bulk", "wb") as file:
            await file.write(data)
        async with sftp.open("bulk", "rb") as file:
            back = await file.read()
        digest = (await shell.run("sha256sum bulk")).stdout.split()[0]
        return [back == data, digest == hashlib.sha256(data).hexdigest(), await sftp.realpath(".")]


async def terminal(url):
    """A terminal by asyncssh: its size, a resize, an interrupt from the keyboard."""
    async with opened(url) as shell:
        process = await shell.conn.create_process("stty size; read -r _; stty size; cat", term_type="xterm", term_size=(90, 30))
        first = await process.stdout.readline()
        process.change_terminal_size(120, 40)
        await asyncio.sleep(0.3)
        process.stdin.write("\n")
        lines = [await process.stdout.readline() for _ in range(2)]
        process.stdin.write("\x03")
        await process.wait()
        return [first.strip(), lines[-1].strip(), process.exit_status or process.exit_signal]


async def by_paramiko(url):
    """paramiko, which is neither OpenSSH nor asyncssh, at the forwarder's address: run, input, files."""

    def work(host, port, key, user):
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect(host, port, username=user, pkey=key, allow_agent=False, look_for_keys=False)
        try:
            stdin, stdout, stderr = client.exec_command("cat; echo warning >&2; exit 5")
            stdin.write("through paramiko")
            stdin.channel.shutdown_write()
            output = [stdout.read().decode(), stderr.read().decode(), stdout.channel.recv_exit_status()]
            with client.open_sftp() as sftp:
                with sftp.file("p.txt", "w") as file:
                    file.write("written")
                sftp.rename("p.txt", "q.txt")
                with sftp.file("q.txt") as file:
                    return [*output, file.read().decode(), sftp.stat("q.txt").st_size]
        finally:
            client.close()

    async with connect(Runtime(url)) as client:
        capability = client.binding("ssh")
        host, _, port = capability.url.split("//")[1].split("@")[-1].rpartition(":")
        key = paramiko.Ed25519Key.from_private_key(io.StringIO(capability.params["client_key"]))
        return await asyncio.to_thread(work, host, int(port), key, capability.params["user"])


async def walls(url):
    """What the peer's client can do inside: no variables of the server's, no network."""
    async with opened(url) as shell:
        names = (await shell.run("env | cut -d= -f1 | grep -E 'HUD|SSH_AUTH|NODE' || true")).stdout
        network = (await shell.run("(exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo open || echo closed")).stdout
        return [names, network]


if __name__ == "__main__":
    _scenario.main(globals())
