// Runs fauxqs with a clock that its clients may set: `node aws_fauxqs.mjs FOLDER PORT`.
// FOLDER is where its package is installed. A request with the header `x-test-now` is served at that moment (Unix
// seconds); without it the time is the machine's. Started by `aws.py`.
import { pathToFileURL } from "node:url";

const [folder, port] = process.argv.slice(2);
const real = Date.now.bind(Date);
let moment = null;
Date.now = () => moment ?? real();

const { buildApp } = await import(pathToFileURL(folder + "/node_modules/fauxqs/dist/app.js").href);
const app = buildApp({ logger: false });
app.addHook("onRequest", async (request) => {
  const said = request.headers["x-test-now"];
  moment = said === undefined ? null : Math.floor(Number(said) * 1000);
});
await app.listen({ host: "127.0.0.1", port: Number(port) });
