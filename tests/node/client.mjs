// Drives one MCP server with a real TypeScript client. Reads a plan from stdin:
//   { sdk: "v1" | "v2", negotiation?, command, args, env, calls: [{ name, arguments }] }
// and prints what the client saw as one JSON object: version, instructions, tools, results.
import { json } from "node:stream/consumers";

const load = {
  v1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
  }),
  v2: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  }),
};

const { sdk, negotiation, command, args, env, calls } = await json(process.stdin);
const { Client, StdioClientTransport } = await load[sdk]();

const client = new Client(
  { name: `typescript-${sdk}`, version: "1.0.0" },
  negotiation ? { versionNegotiation: { mode: negotiation } } : undefined,
);
// Both SDKs keep the negotiated version to themselves, but tell it to their transport.
const transport = new StdioClientTransport({ command, args, env });
let version = null;
transport.setProtocolVersion = (negotiated) => (version = negotiated);

await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const call of calls) results.push(await client.callTool(call));
const instructions = client.getInstructions() ?? null;
await client.close();
console.log(JSON.stringify({ version, instructions, tools, results }));
