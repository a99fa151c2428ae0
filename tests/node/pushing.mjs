// A server on the TypeScript SDK that speaks both protocol versions, and asks by a request of its own: what servers
// that were written for the legacy version do. Takes the seconds that its start is to take.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const form = {
  message: "Your name?",
  requestedSchema: { type: "object", properties: { said: { type: "string" } }, required: ["said"] },
};

const make = () => {
  const server = new McpServer({ name: "pushing", version: "1.0.0" });
  server.registerTool("greet", { description: "Greets by name" }, async (ctx) => {
    const answer = await ctx.mcpReq.elicitInput(form);
    return { content: [{ type: "text", text: `Hello, ${answer.content.said}` }] };
  });
  server.registerTool("echo", { description: "Says something" }, async () => ({
    content: [{ type: "text", text: "echo" }],
  }));
  return server;
};

setTimeout(() => serveStdio(make), 1000 * Number(process.argv[2] ?? 0));
