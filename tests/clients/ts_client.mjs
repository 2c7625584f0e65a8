// Runner for the TypeScript `@modelcontextprotocol/client`: carries out the
// order and the requests from stdin and reports what that client shows its
// caller. This client speaks both eras; left alone it uses the initialize
// handshake.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
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

function clientOptions(era) {
  switch (era) {
    case undefined:
      return {};
    case "handshake":
      return { versionNegotiation: { mode: "legacy" } };
    case "2026-07-28":
      return { versionNegotiation: { mode: { pin: era } } };
    default:
      throw new Error(`this client offers no era ${era}`);
  }
}

function openSession({ target, era }) {
  const options = clientOptions(era);
  const transport = openTransport(target);
  const answers = watchAnswers(transport);
  const client = new Client({ name: "candor-test-ts-client", version: "0.0.0" }, options);
  return {
    async connect(signal) {
      await client.connect(transport, { signal });
      return {
        protocol: client.getNegotiatedProtocolVersion() ?? null,
        server: serverFacts(client.getServerVersion()),
        instructions: client.getInstructions() ?? null,
      };
    },
    async list(signal) {
      answers.forget();
      const { tools } = await client.listTools(undefined, { signal });
      return tools.map((tool) => tool.name);
    },
    async call(call, signal) {
      answers.forget();
      return resultFacts(await client.callTool(call, { signal }));
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
