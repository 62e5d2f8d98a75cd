// Posts two events to a pipeline that runs with: npm start -- --endpoints tailrace.json
import { readFileSync } from 'node:fs';

const FILE = 'tailrace.json';
const START = `run npm start -- --endpoints ${FILE} in this folder first`;

/** @param {string} sentence @returns {never} */
function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

function readGateway() {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')).gateway;
  } catch (fault) {
    return fail(`The endpoints file ${FILE} can not be read (${fault.code ?? fault.message}): ${START}.`);
  }
}

const gateway = readGateway();
const events = [
  { timestamp: new Date().toISOString(), customer_id: 'cust_42', service: 'checkout', status_code: 200, latency_ms: 12.5 },
  {
    timestamp: new Date().toISOString(),
    customer_id: 'cust_42',
    service: 'checkout',
    status_code: 503,
    level: 'error',
    message: 'upstream timed out',
  },
];

const response = await fetch(`${gateway}/v1/events`, {
  method: 'POST',
  headers: { 'content-type': 'application/x-ndjson' },
  body: events.map((event) => `${JSON.stringify(event)}\n`).join(''),
}).catch((fault) => fail(`The gateway does not answer at ${gateway} (from ${FILE}; ${fault.cause?.code ?? fault.message}): ${START}.`));
console.log(response.status, await response.json());
