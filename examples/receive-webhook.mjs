// Receives what a notifier of kind webhook posts: checks the signature, takes each notification once, and prints it.
//   TAILRACE_WEBHOOK_SECRET=… node examples/receive-webhook.mjs 8099
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

// biome-ignore lint/style/noProcessEnv: an example is one file.
const secret = process.env.TAILRACE_WEBHOOK_SECRET;
if (!secret) {
  console.error('Set TAILRACE_WEBHOOK_SECRET to the secret of the notifier.');
  process.exit(2);
}

const MAX_BYTES = 1024 * 1024;
const MAX_SKEW_S = 300;
/** Keys that were taken. A real receiver keeps them where it keeps what it made of them, for a few days. */
const taken = new Set();

/** Over the bytes as they came: JSON that is parsed and printed again has other bytes. */
function isSigned(headers, body) {
  const timestamp = headers['x-tailrace-timestamp'] ?? '';
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= MAX_SKEW_S)) return false;
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`);
  const given = Buffer.from(headers['x-tailrace-signature'] ?? '');
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function answer(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return 413;
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!isSigned(request.headers, body)) return 401;
  const { key, status, severity, summary, response } = JSON.parse(body);
  if (taken.has(key)) return 200;
  taken.add(key);
  console.log(`${status} ${severity}: ${summary}\n  do: ${response.do}\n  do not: ${response.do_not}`);
  return 200;
}

const server = createServer((request, response) => {
  answer(request).then(
    (status) => response.writeHead(status).end(),
    (fault) => response.writeHead(400).end(String(fault.message)),
  );
});
server.on('error', (fault) => {
  console.error(`It can not listen (${fault.message}): name a free port.`);
  process.exit(1);
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
