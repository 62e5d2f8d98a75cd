// Posts refunds that fail at a provider, four a second, to a pipeline that runs with: npm start -- --endpoints tailrace.json
//   node examples/failing-refunds.mjs PROVIDER SECONDS
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** @param {string} sentence @returns {never} */
function fail(sentence, exitCode = 1) {
  console.error(sentence);
  process.exit(exitCode);
}

const FILE = 'tailrace.json';
const START = `run npm start -- --endpoints ${FILE} in this folder first`;

function readGateway() {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')).gateway;
  } catch (fault) {
    return fail(`The endpoints file ${FILE} can not be read (${fault.code ?? fault.message}): ${START}.`);
  }
}

const [provider, seconds] = process.argv.slice(2);
if (!provider || !(Number(seconds) > 0)) fail('Name a provider, and for how many seconds: node examples/failing-refunds.mjs acme 15', 2);
const gateway = readGateway();
let accepted = 0;
for (let left = Number(seconds) * 4; left > 0; left--) {
  const event = {
    timestamp: new Date().toISOString(),
    service: 'refunds',
    status_code: 202,
    attributes: { provider, outcome: 'failed' },
  };
  const response = await fetch(`${gateway}/v1/events`, { method: 'POST', body: JSON.stringify(event) }).catch((fault) =>
    fail(`The gateway does not answer at ${gateway} (from ${FILE}; ${fault.cause?.code ?? fault.message}): ${START}.`),
  );
  if (!response.ok) fail(`The gateway answered ${response.status}: ${await response.text()}`);
  accepted += (await response.json()).accepted;
  await sleep(250);
}
console.log(`${accepted} refunds failed at ${provider}`);
