// How much CPU the gateway takes per event: posts NDJSON to a running one and reads its own CPU clock from /metrics.
// Usage: node bench/ideas/gateway-cpu.mjs http://127.0.0.1:8080 [events per post] [seconds] [posts at once]
import { Agent, request } from 'node:http';

const [url, perPost = '100', seconds = '10', atOnce = '16'] = process.argv.slice(2);
if (url === undefined) {
  console.error('Name the gateway: node bench/ideas/gateway-cpu.mjs http://127.0.0.1:8080 [events per post] [seconds] [posts at once]');
  process.exit(2);
}
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) });

function send(method, path, body) {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { method, agent }, (answered) => {
      const chunks = [];
      answered.on('data', (chunk) => chunks.push(chunk));
      answered.on('end', () => resolve({ status: answered.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function cpuSeconds() {
  const { text } = await send('GET', '/metrics');
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
}

const bodies = Array.from({ length: 50 }, (_, b) =>
  Buffer.from(
    Array.from({ length: Number(perPost) }, (_, i) => {
      const customer = Math.floor(5000 * Math.random() ** 3);
      return JSON.stringify({
        timestamp: new Date().toISOString(),
        customer_id: `customer-${customer}`,
        service: 'checkout',
        user_id: `user-${(b * 97 + i) % 1000}`,
        endpoint: '/v1/orders',
        region: 'eu-central-1',
        latency_ms: Math.round(Math.random() * 1e5) / 100,
        status_code: 200,
        bytes: 512 + i,
        level: 'info',
        trace_id: Math.random().toString(16).slice(2).padEnd(32, '0').slice(0, 32),
      });
    }).join('\n'),
  ),
);
const latenciesMs = [];
let accepted = 0;
async function poster(untilMs, record) {
  for (let n = 0; performance.now() < untilMs; n++) {
    const begunMs = performance.now();
    const { status, text } = await send('POST', '/v1/events', bodies[n % bodies.length]);
    if (status !== 200) throw new Error(`${status} ${text}`);
    if (record) {
      latenciesMs.push(performance.now() - begunMs);
      accepted += JSON.parse(text).accepted;
    }
  }
}
const all = (durationMs, record) =>
  Promise.all(Array.from({ length: Number(atOnce) }, () => poster(performance.now() + durationMs, record)));

await all(2_000, false);
const cpuBefore = await cpuSeconds();
const begunMs = performance.now();
await all(Number(seconds) * 1000, true);
const wallSeconds = (performance.now() - begunMs) / 1000;
const cpu = (await cpuSeconds()) - cpuBefore;
latenciesMs.sort((a, b) => a - b);
const at = (share) => Math.round(latenciesMs[Math.floor(latenciesMs.length * share)] * 10) / 10;
console.log(
  JSON.stringify({
    eventsPerPost: Number(perPost),
    bytesPerEvent: Math.round(bodies[0].length / Number(perPost)),
    accepted,
    eventsPerSecond: Math.round(accepted / wallSeconds),
    cpuUsPerEvent: Math.round((cpu / accepted) * 1e8) / 100,
    eventsPerCpuSecond: Math.round(accepted / cpu),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }),
);
agent.destroy();
