// Runner for the TypeScript `@modelcontextprotocol/sdk` client: carries out
// the order and the requests from stdin and reports what that client shows its
// caller. This client knows the initialize handshake only.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { httpOptions, partFacts, resultFacts, run, serverFacts, watchAnswers } from "./steps.mjs";

function openTransport(target) {
  switch (target.kind) {
    case "stdio":
      return new StdioClientTransport({
        command: target.command,
        args: target.args ?? [],
      });
    case "http":
      return new StreamableHTTPClientTransport(new URL(target.url), httpOptions(target));
    default:
      throw new Error(`unknown kind of target: ${target.kind}`);
  }
}

// The client hands the negotiated revision to its transport and keeps none.
function watchRevision(transport) {
  const pass = transport.setProtocolVersion?.bind(transport);
  const seen = { revision: null };
  transport.setProtocolVersion = (revision) => {
    seen.revision = revision;
    pass?.(revision);
  };
  return seen;
}

async function listNames(client, options) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : undefined, options);
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor);
  return names;
}

function openSession({ target, era }) {
  if (era !== undefined && era !== "handshake") {
    throw new Error(`this client offers no era ${era}`);
  }
  const transport = openTransport(target);
  const answers = watchAnswers(transport);
  const negotiated = watchRevision(transport);
  const client = new Client({ name: "candor-test-ts-sdk", version: "0.0.0" });
  return {
    async connect(signal) {
      await client.connect(transport, { signal });
      return {
        protocol: negotiated.revision,
        server: serverFacts(client.getServerVersion()),
        instructions: client.getInstructions() ?? null,
      };
    },
    list(signal) {
      answers.forget();
      return listNames(client, { signal });
    },
    async call(call, signal) {
      answers.forget();
      return resultFacts(await client.callTool(call, undefined, { signal }));
    },
    async resources(given, signal) {
      answers.forget();
      return partFacts(await client.listResources(given, { signal }), "resources");
    },
    async read(given, signal) {
      answers.forget();
      return partFacts(await client.readResource(given, { signal }), "contents");
    },
    async close() {
      await transport.terminateSession?.();
      await client.close();
    },
    failure: answers.failure,
  };
}

await run(openSession);
