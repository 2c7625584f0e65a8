// Runner for the `@modelcontextprotocol/inspector` command line: carries out
// the order and the requests from stdin by running the inspector once per
// request, and reports what it printed. Every request is a new connection (and, over stdio, a new
// server process), so no state lasts from one call to the next.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { partFacts, refusal, resultFacts, run, serverFacts } from "./steps.mjs";

const ERAS = { handshake: "legacy", "2026-07-28": "modern" };

function inspectorEntry() {
  const manifest = createRequire(import.meta.url).resolve(
    "@modelcontextprotocol/inspector/package.json",
  );
  const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
  return join(dirname(manifest), bin["mcp-inspector"]);
}

// The inspector needs a newer Node than the other clients do, so the pinned
// one is taken where it is installed.
function pinnedNode() {
  const here = dirname(fileURLToPath(import.meta.url));
  const pinned = join(here, "node_modules", "node", "bin", "node");
  return existsSync(pinned) ? pinned : process.execPath;
}

// The target goes last: everything after `--` is the server's own.
function targetArgs(target) {
  switch (target.kind) {
    case "stdio":
      return ["--transport", "stdio", "--", target.command, ...(target.args ?? [])];
    case "http":
      return ["--transport", "http", "--server-url", target.url];
    default:
      throw new Error(`unknown kind of target: ${target.kind}`);
  }
}

function eraArgs(era) {
  if (era === undefined) return [];
  if (!Object.hasOwn(ERAS, era)) throw new Error(`this client offers no era ${era}`);
  return ["--protocol-era", ERAS[era]];
}

// Keeps the inspector away from the user's own settings and secrets, and its
// requests to loopback away from any proxy.
function isolatedEnv(storage) {
  const direct = (given) => [given, "127.0.0.1", "localhost"].filter(Boolean).join(",");
  return {
    ...process.env,
    NO_PROXY: direct(process.env.NO_PROXY),
    no_proxy: direct(process.env.no_proxy),
    MCP_STORAGE_DIR: storage,
    MCP_CLIENT_CONFIG_PATH: join(storage, "client.json"),
    MCP_INSPECTOR_SECRET_STORE: "memory",
  };
}

// Runs one inspector process in a group of its own, so that ending it on the
// time limit ends the server it started as well.
function runProcess(command, args, env, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => {
        printed[name] += text;
      });
    }
    signal.addEventListener("abort", () => endGroup(child.pid));
    child.on("error", reject);
    child.on("close", (exit) => resolve({ ...printed, exit }));
  });
}

function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function parseLine(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The inspector prints {"result":…} on stdout, {"error":…} on stderr, or both.
function readPrinted({ stdout, stderr, exit }) {
  const lines = stderr.split("\n").map(parseLine);
  return {
    result: parseLine(stdout)?.result,
    error: lines.findLast((line) => line?.error)?.error,
    exit,
    text: `${stdout}${stderr}`.trim(),
  };
}

class InspectorFailure extends Error {
  constructor({ error, exit, text }) {
    super(error?.message ?? text);
    this.envelope = error;
    this.exit = exit;
  }
}

// The inspector says `error` both for a JSON-RPC error and for its own check
// of a result, and prints neither the number nor the data of the former. With
// an HTTP status, or with any other word, it is a refusal of its own.
function failure(error) {
  if (!(error instanceof InspectorFailure)) return refusal(error);
  const { envelope, exit } = error;
  if (envelope?.code === "error" && envelope.status === undefined) {
    return { outcome: "error", code: null, message: envelope.message, data: null, envelope, exit };
  }
  const word = envelope?.code ?? "no result printed";
  return { outcome: "refused", reason: `${word}: ${error.message}`, envelope: envelope ?? null, exit };
}

function openSession({ target, era }) {
  const entry = inspectorEntry();
  const node = pinnedNode();
  const common = ["--cli", "--quiet", "--format", "json", "--stored-auth-only", ...eraArgs(era)];
  const last = targetArgs(target);
  const storage = mkdtempSync(join(tmpdir(), "inspector-"));
  const env = isolatedEnv(storage);
  const request = async (signal, ...method) => {
    const args = [entry, ...common, "--method", ...method, ...last];
    const printed = readPrinted(await runProcess(node, args, env, signal));
    if (printed.result === undefined) throw new InspectorFailure(printed);
    return printed.result;
  };
  return {
    async connect(signal) {
      const { protocolVersion, serverInfo, instructions } = await request(signal, "initialize");
      return {
        protocol: protocolVersion ?? null,
        server: serverFacts(serverInfo),
        instructions: instructions ?? null,
      };
    },
    async list(signal) {
      const { tools } = await request(signal, "tools/list");
      return tools.map((tool) => tool.name);
    },
    async call({ name, arguments: given }, signal) {
      const json = JSON.stringify(given ?? {});
      const args = ["tools/call", `--tool-name=${name}`, `--tool-args-json=${json}`];
      return resultFacts(await request(signal, ...args));
    },
    // The inspector follows the cursors by itself.
    async resources(_given, signal) {
      return partFacts(await request(signal, "resources/list"), "resources");
    },
    async read({ uri }, signal) {
      return partFacts(await request(signal, "resources/read", `--uri=${uri}`), "contents");
    },
    close() {
      rmSync(storage, { recursive: true, force: true });
    },
    failure,
  };
}

await run(openSession);
