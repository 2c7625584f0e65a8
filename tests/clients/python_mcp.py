"""Runner for the Python `mcp` client: carries out the order and the requests
from stdin and reports what that client shows its caller, one JSON line per
step. Nothing here judges what it sees.
"""

import json
import math
import os
import sys
from contextlib import AsyncExitStack

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import CONNECTION_CLOSED

STEP_LIMIT_S = 60.0

# What the client calls the eras; left alone it probes and falls back.
MODES = {"handshake": "legacy", "2026-07-28": "2026-07-28"}

RESULT_MEMBERS = ("content", "structuredContent", "isError", "_meta")


def report(**line):
    print(json.dumps(line, separators=(",", ":"), ensure_ascii=False), flush=True)


def keep_loopback_direct():
    """Servers under test are on loopback, which no proxy can reach."""
    for name in ("NO_PROXY", "no_proxy"):
        given = os.environ.get(name)
        os.environ[name] = ",".join(filter(None, [given, "127.0.0.1", "localhost"]))


def open_client(order):
    target = order["target"]
    era = order.get("era")
    options = {} if era is None else {"mode": mode_of(era)}
    if target["kind"] == "stdio":
        server = StdioServerParameters(
            command=target["command"], args=target.get("args", [])
        )
    elif target["kind"] == "http" and "token" in target:
        headers = {"Authorization": f"Bearer {target['token']}"}
        http_client = create_mcp_http_client(headers)
        server = streamable_http_client(target["url"], http_client=http_client)
    elif target["kind"] == "http":
        server = target["url"]
    else:
        raise ValueError(f"unknown kind of target: {target['kind']}")
    return Client(server, **options)


def mode_of(era):
    if era not in MODES:
        raise ValueError(f"this client offers no era {era}")
    return MODES[era]


def failure_facts(error):
    """The facts of an outcome that came as an exception."""
    error = innermost(error)
    if isinstance(error, TimeoutError):
        return {"outcome": "refused", "reason": "timeout"}
    if isinstance(error, MCPError) and not is_lost_connection(error):
        return {
            "outcome": "error",
            "code": error.code,
            "message": error.message,
            "data": error.data,
        }
    return {"outcome": "refused", "reason": f"{type(error).__name__}: {error}"}


def innermost(error):
    """The one exception inside groups of one; task groups wrap what they raise."""
    while len(getattr(error, "exceptions", ())) == 1:
        error = error.exceptions[0]
    return error


def is_lost_connection(error):
    """The client words a lost connection as an error nobody sent."""
    return (error.code, error.message) == (CONNECTION_CLOSED, "Connection closed")


def server_facts(info):
    return None if info is None else {"name": info.name, "version": info.version}


def result_facts(result):
    """The members that were received; defaults the client fills in are left out."""
    members = result.model_dump(by_alias=True, mode="json", exclude_unset=True)
    return {
        "outcome": "result",
        "is_error": result.is_error,
        "content": members.get("content"),
        "structured": members.get("structuredContent"),
        "meta": members.get("_meta"),
        "extra": {k: v for k, v in members.items() if k not in RESULT_MEMBERS},
    }


async def list_names(client):
    names = []
    page = await client.list_tools()
    names.extend(tool.name for tool in page.tools)
    while page.next_cursor is not None:
        page = await client.list_tools(cursor=page.next_cursor)
        names.extend(tool.name for tool in page.tools)
    return names


async def report_list(client):
    try:
        with anyio.fail_after(STEP_LIMIT_S):
            facts = {"tools": await list_names(client)}
    except Exception as error:
        facts = failure_facts(error)
    report(step="list", **facts)


def part_facts(result, part):
    """One member of a result under its own name, and the others as `extra`."""
    members = result.model_dump(by_alias=True, mode="json", exclude_unset=True)
    value = members.pop(part)
    return {"outcome": "result", part: value, "extra": members}


async def call_tool(client, call):
    return result_facts(await client.call_tool(call["name"], call.get("arguments")))


async def list_resources(client, given):
    return part_facts(await client.list_resources(**given), "resources")


async def read_resource(client, given):
    return part_facts(await client.read_resource(given["uri"]), "contents")


# The kinds of requests, which are also the names of their steps.
REQUESTS = {"call": call_tool, "resources": list_resources, "read": read_resource}


async def report_request(client, index, request):
    [(kind, given)] = request.items()
    try:
        with anyio.fail_after(STEP_LIMIT_S):
            facts = await REQUESTS[kind](client, given)
    except Exception as error:
        facts = failure_facts(error)
    report(step=kind, index=index, **facts)


async def read_line():
    """The next line of stdin as JSON, or None at its end."""
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    return json.loads(line) if line else None


class Progress:
    """The step that is open, and whether every step before close was reported."""

    def __init__(self):
        self.step = "connect"
        self.reported = False


async def run_session(progress):
    """Connects, lists, carries out requests until the input ends, and closes.

    The client enters task groups that outlive connect, so one scope around
    the whole session carries the limits of its first and last step.
    """
    order = await read_line()
    with anyio.CancelScope() as scope:
        scope.deadline = anyio.current_time() + STEP_LIMIT_S
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(open_client(order))
            scope.deadline = math.inf
            report(
                step="connect",
                ok=True,
                protocol=client.protocol_version,
                server=server_facts(client.server_info),
                instructions=client.instructions,
            )
            progress.step = "close"
            await report_list(client)
            index = 0
            while (request := await read_line()) is not None:
                await report_request(client, index, request)
                index += 1
            progress.reported = True
            scope.deadline = anyio.current_time() + STEP_LIMIT_S
    if scope.cancelled_caught:
        raise TimeoutError
    report(step="close", ok=True)


def main():
    keep_loopback_direct()
    progress = Progress()
    try:
        anyio.run(run_session, progress)
    except Exception as error:
        report(step=progress.step, ok=False, **failure_facts(error))
    return 0 if progress.reported else 1


if __name__ == "__main__":
    sys.exit(main())
