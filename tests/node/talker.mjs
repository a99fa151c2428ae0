// A real TypeScript client that can be asked. Reads a plan from stdin:
//   { sdk: "v1" | "v2", negotiation?, command, args, env, steps: [{ verb, params }] }
// calls each verb of the client in turn, and prints what it saw as one JSON object: version, results (or errors),
// the questions that it was asked, progress by step, and log messages.
import { json } from "node:stream/consumers";

const load = {
  v1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    ...(await import("@modelcontextprotocol/sdk/types.js")),
  }),
  v2: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  }),
};

const { sdk, negotiation, command, args, env, steps } = await json(process.stdin);
const library = await load[sdk]();

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const client = new library.Client(
  { name: `typescript-${sdk}`, version: "1.0.0" },
  { capabilities, ...(negotiation ? { versionNegotiation: { mode: negotiation } } : {}) },
);

const asked = [];
const logs = [];
// The workbench puts the server's name before what the server asks.
const asTheServerHasIt = (message) => message.replace(/^\[\w+\/\w+\] /, "");
const answers = {
  "elicitation/create": (params) =>
    params.mode === "url"
      ? { action: "accept" }
      : { action: "accept", content: { said: asTheServerHasIt(params.message) } },
  "sampling/createMessage": (params) => ({
    role: "assistant",
    content: { type: "text", text: `on ${params.messages[0].content.text}` },
    model: "typescript-model",
  }),
  "roots/list": () => ({ roots: [{ uri: "file:///home/ada/project", name: "Ada's project" }] }),
};
// The first SDK names methods by their schemas, the second by their names.
const named = (method, schema) => (sdk === "v1" ? library[schema] : method);
for (const [method, schema] of [
  ["elicitation/create", "ElicitRequestSchema"],
  ["sampling/createMessage", "CreateMessageRequestSchema"],
  ["roots/list", "ListRootsRequestSchema"],
])
  client.setRequestHandler(named(method, schema), ({ params }) => {
    asked.push({ method, params });
    return answers[method](params);
  });
client.setNotificationHandler(
  named("notifications/message", "LoggingMessageNotificationSchema"),
  ({ params }) => void logs.push(params),
);

// Both SDKs keep the negotiated version to themselves, but tell it to their transport.
const transport = new library.StdioClientTransport({ command, args, env });
let version = null;
transport.setProtocolVersion = (negotiated) => (version = negotiated);
await client.connect(transport);

const results = [];
const progress = [];
for (const { verb, params } of steps) {
  const told = [];
  const options = { onprogress: (it) => void told.push(it) };
  const spoken = verb === "callTool" && sdk === "v1" ? [params, undefined, options] : [params, options];
  results.push(await client[verb](...spoken).catch((error) => ({ failure: String(error), code: error.code })));
  progress.push(told);
}
await client.close();
console.log(JSON.stringify({ version, results, asked, progress, logs }));
