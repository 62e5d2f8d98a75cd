// Posts two events to a pipeline that runs with: npm start -- --endpoints tailrace.json
import { readFileSync } from 'node:fs';

const { gateway } = JSON.parse(readFileSync('tailrace.json', 'utf8'));
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
});
console.log(response.status, await response.json());
