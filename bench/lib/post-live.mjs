// Posts events at a steady rate to a gateway until its standard input ends, as hundreds of services do, and tells at the end how many were accepted.
// Twice a second a burst of errors begins that nothing else has the name of: each is one alert.
import { Agent, request } from 'node:http';

const [, , gatewayUrl, rateText] = process.argv;
const RATE = Number(rateText);
const EVENTS_PER_POST = 100;
const POSTERS = 16;
const SERVICES = 200;
const ENDPOINTS = 5;
const REGIONS = ['eu-central-1', 'us-east-1', 'ap-southeast-1', 'eu-west-1'];
const BURST_EVERY_MS = 500;
const BURST_EVENTS = 40;

const agent = new Agent({ keepAlive: true, maxSockets: POSTERS });
let accepted = 0;
let late = 0;
let stopping = false;
let made = 0;
let burst = { name: '', left: 0, nextMs: Date.now() + 5000 };
const bursts = [];

/** All but its time, made once: the poster is on the same cores. */
const templates = Array.from({ length: 20_000 }, (_, i) => {
  const service = i % SERVICES;
  const failed = i % 97 === 0;
  const refused = !failed && i % 31 === 0;
  const customer = (i * 7919) % 5000;
  const event = {
    customer_id: `cust_${String(customer).padStart(5, '0')}`,
    service: `service-${String(service).padStart(3, '0')}`,
    user_id: `u_${customer}_${i % 40}`,
    endpoint: `/v1/resource-${Math.floor(i / SERVICES) % ENDPOINTS}/items`,
    region: REGIONS[i % REGIONS.length],
    host: `service-${service}-${i % 8}`,
    latency_ms: 10 + ((i * 31) % 300),
    status_code: failed ? 503 : refused ? 429 : 200,
    bytes: 500 + ((i * 13) % 4000),
    level: failed ? 'error' : refused ? 'warn' : 'info',
    message: failed ? 'upstream connect timeout' : 'answered as it should be, within its time',
    trace_id: i.toString(16).padStart(32, '0'),
  };
  return { text: `,${JSON.stringify(event).slice(1)}\n`, event };
});

function body() {
  const nowMs = Date.now();
  const head = `{"timestamp":"${new Date(nowMs).toISOString()}"`;
  if (burst.left === 0 && nowMs >= burst.nextMs) {
    burst = { name: `burst-${nowMs}`, left: BURST_EVENTS, nextMs: burst.nextMs + BURST_EVERY_MS };
    bursts.push(burst.name);
  }
  let text = '';
  for (let n = 0; n < EVENTS_PER_POST; n++) {
    const { text: rest, event } = templates[made++ % templates.length];
    if (burst.left > 0 && n % 5 === 0) {
      burst.left -= 1;
      text += `${head},${JSON.stringify({ ...event, status_code: 500, attributes: { burst: burst.name } }).slice(1)}\n`;
    } else text += head + rest;
  }
  return text;
}

function post() {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-ndjson' };
    const sent = request(`${gatewayUrl}/v1/events`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(undefined) : reject(new Error(`the gateway answered ${answer.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body());
  });
}

let nextMs = performance.now();
async function poster() {
  while (!stopping) {
    const turnMs = nextMs;
    nextMs += (EVENTS_PER_POST * 1000) / RATE;
    const waitMs = turnMs - performance.now();
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
    else if (waitMs < -1000) {
      // What could not be posted in its time is not made up for.
      late += 1;
      nextMs = performance.now();
    }
    await post();
    accepted += EVENTS_PER_POST;
  }
}

process.stdin.on('end', () => {
  stopping = true;
});
process.stdin.resume();
const startedMs = performance.now();
await Promise.all(Array.from({ length: POSTERS }, poster));
const seconds = (performance.now() - startedMs) / 1000;
process.stdout.write(`${JSON.stringify({ accepted, seconds, late, bursts: bursts.length })}\n`);
agent.destroy();
