"""fastmcp against a pvemcp server: prints PASS or FAIL and an operation, a line each, then RESULT.

MCP_URL and MCP_TOKEN name a server over HTTP; without them MCP_COMMAND (a JSON list) starts one on stdio. Every operation is
tried in both eras of the protocol. A real second there is a fraction of a virtual one, so that a task can be waited for.
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

counts = {"pass": 0, "fail": 0}


def client(mode, **more):
    url = os.environ.get("MCP_URL")
    if url:
        return Client(url, auth=os.environ["MCP_TOKEN"], mode=mode, **more)
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return Client(StdioTransport(command=command, args=args, keep_alive=False), mode=mode, **more)


def need(holds, what):
    if not holds:
        raise AssertionError(what)


async def refusal(c, tool, arguments, code):
    result = await c.call_tool(tool, arguments, raise_on_error=False)
    need(result.is_error, f"{tool} was not refused: {str(result)[:300]}")
    told = (result.structured_content or {}).get("code")
    need(told == code, f"{tool} was refused with {told}, not {code}")
    return result


async def initialize(c, mode):
    version = str(c.protocol_version)
    need(version == ("2025-11-25" if mode == "legacy" else "2026-07-28"), f"revision {version}")
    need(c.server_info.name == "pvemcp", f"server {c.server_info}")
    need(c.instructions, "no instructions")


async def lists(c, _):
    tools = await c.list_tools()
    names = [tool.name for tool in tools]
    need(len(names) > 300 and names == sorted(names) and len(set(names)) == len(names), f"{len(names)} tools")
    need(all(tool.description for tool in tools), "a tool without a description")
    need("pve_guest_power" in names and "pve_delete_user" not in names, "gates do not show in the list")
    need(len(await c.list_resources()) > 0 and len(await c.list_resource_templates()) > 0, "no resources")
    need(len(await c.list_prompts()) == 6, "not the six prompts")


async def read(c, _):
    result = await c.call_tool("pve_list_cluster_resources", {"type": "node"})
    need(len(result.structured_content["data"]) > 1, f"nodes: {result.structured_content}")
    need(result.content[0].text, "no text beside the data")


async def big_answer(c, _):
    result = await c.call_tool("pve_api_read", {"path": "/access/permissions"})
    size = len(json.dumps(result.structured_content))
    need(size > 9000, f"the answer has {size} bytes")
    tools = await c.list_tools()
    size = sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools)
    need(size > 100_000, f"the list of tools has {size} bytes")


async def refused_write(c, _):
    await refusal(c, "pve_delete_user", {"userid": "nobody@pve"}, "gate_closed")


async def bad_arguments(c, _):
    await refusal(c, "pve_list_cluster_resources", {"typ": "node"}, "bad_argument")
    await refusal(c, "pve_list_cluster_resources", {"type": 5}, "bad_argument")


async def unknown_tool(c, _):
    result = await refusal(c, "pve_list_cluster_resource", {}, "unknown_tool")
    need("pve_list_cluster_resources" in str(result.structured_content), "the nearest name is not told")


async def missing_guest(c, _):
    await refusal(c, "pve_get_vm_config", {"vmid": 999999}, "not_found")


async def an_error_raises(c, _):
    try:
        await c.call_tool("pve_get_vm_config", {"vmid": 999999})
    except ToolError:
        return
    raise AssertionError("the client saw no error")


async def resource(c, _):
    first = (await c.list_resources())[0]
    need((await c.read_resource(first.uri))[0].text, "an empty resource")
    try:
        await c.read_resource("proxmox://nowhere/nothing")
    except Exception as error:
        need("proxmox://nowhere/nothing" in str(error) or "resource" in str(error).lower(), f"another error: {error}")
    else:
        raise AssertionError("a resource that does not exist was read")


async def prompt(c, _):
    for one in await c.list_prompts():
        if not any(argument.required for argument in one.arguments or []):
            need((await c.get_prompt(one.name)).messages, f"{one.name} is empty")


async def stopped_guest(c):
    guests = (await c.call_tool("pve_list_cluster_resources", {"type": "vm"})).structured_content["data"]
    return next(
        guest["vmid"]
        for guest in guests
        if guest["status"] == "stopped" and not guest.get("template") and guest["type"] == "lxc"
    )


async def dry_run(c, _):
    vmid = await stopped_guest(c)
    result = await c.call_tool("pve_guest_power", {"vmid": vmid, "action": "start", "dry_run": True})
    need(result.structured_content["dry_run"] is True, f"{result.structured_content}")


async def cancellation(c, _):
    """A call that waits for a task is given up; the server goes on answering."""
    vmid = await stopped_guest(c)
    call = asyncio.create_task(c.call_tool("pve_guest_power", {"vmid": vmid, "action": "start", "wait_seconds": 600}))
    done, _waiting = await asyncio.wait({call}, timeout=3)
    need(not done, f"it did not wait: {done}")
    call.cancel()
    await asyncio.wait({call}, timeout=10)
    need(call.done(), "the call went on after it was cancelled")
    async with asyncio.timeout(20):
        await read(c, None)


async def question(mode):
    """A destructive call is asked about; a no does nothing."""
    asked = []

    async def no(message, _type, _params, _context):
        asked.append(message)
        return ElicitResult(action="decline")

    async with client(mode, elicitation_handler=no) as c:
        vmid = await stopped_guest(c)
        await refusal(c, "pve_delete_lxc", {"vmid": vmid}, "confirmation_declined")
        need(len(asked) == 1 and str(vmid) in asked[0], f"asked {asked}")
        await c.call_tool("pve_get_lxc_config", {"vmid": vmid})


OPERATIONS = [
    initialize,
    lists,
    read,
    big_answer,
    refused_write,
    bad_arguments,
    unknown_tool,
    missing_guest,
    an_error_raises,
    resource,
    prompt,
    dry_run,
    cancellation,
]


async def tell(name, trial):
    try:
        async with asyncio.timeout(60):
            await trial
    except Exception as error:
        counts["fail"] += 1
        print(f"FAIL {name}: {type(error).__name__}: {' '.join(str(error).split())[:400]}", flush=True)
    else:
        counts["pass"] += 1
        print(f"PASS {name}", flush=True)


async def main():
    for mode in ("legacy", "auto"):
        async with client(mode) as c:
            for operation in OPERATIONS:
                await tell(f"{mode}_{operation.__name__}", operation(c, mode))
        await tell(f"{mode}_question", question(mode))


asyncio.run(main())
print(f"RESULT fastmcp pass={counts['pass']} fail={counts['fail']}")
sys.exit(0)
