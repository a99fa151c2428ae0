// Drives one MCP server with a real TypeScript client. Reads a plan from stdin:
//   { sdk: "v1" | "v2", negotiation?, calls: [{ name, arguments }] } and either { command, args, env } or { url }
// and prints what the client saw as one JSON object: version, instructions, tools, results.
import { json } from "node:stream/consumers";

const load = {
  v1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  }),
  v2: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  }),
};

const { sdk, negotiation, command, args, env, url, calls } = await json(process.stdin);
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await load[sdk]();

const client = new Client(
  { name: `typescript-${sdk}`, version: "1.0.0" },
  negotiation ? { versionNegotiation: { mode: negotiation } } : undefined,
);
// Both SDKs keep the negotiated version to themselves, but tell it to their transport.
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, env });
const tell = transport.setProtocolVersion?.bind(transport);
let version = null;
transport.setProtocolVersion = (negotiated) => {
  version = negotiated;
  tell?.(negotiated);
};

await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of calls) results.push(await client.callTool(call));
const instructions = client.getInstructions() ?? null;
await client.close();
console.log(JSON.stringify({ version, instructions, tools, results }));
