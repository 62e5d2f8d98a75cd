// Twenty rules over 200 services, about 5,000 groups: what a shop of that size has.

const text = 'severity: warning\n    response: {do: "Look at the service.", do_not: "Do not restart Kafka."}\n';

/** @param {string} name @param {string} groupBy @param {string} lines */
const rule = (name, groupBy, lines) =>
  `  - name: ${name}\n    summary: "${name}"\n    group_by: [${groupBy}]\n${lines
    .split('; ')
    .map((line) => `    ${line}\n`)
    .join('')}    ${text}`;

const quiet = 'window: 1m; condition: "> 1000000"';

export const RULES = `rules:
${[
  rule('burst', 'attributes.burst', 'where: exists(attributes.burst); measure: count; window: 1m; condition: "> 20"'),
  rule('errors', 'service', `where: status_code >= 500; measure: count; ${quiet}`),
  rule('errors-by-endpoint', 'service, endpoint', `where: status_code >= 500; measure: count; ${quiet}`),
  rule('errors-by-host', 'host', `where: status_code >= 500; measure: count; ${quiet}`),
  rule('timeouts', 'service', `where: contains(message, "timeout"); measure: count; ${quiet}`),
  rule('refused', 'service', `where: status_code = 429; measure: count; ${quiet}`),
  rule('refused-by-region', 'region', `where: status_code >= 400 and status_code < 500; measure: count; ${quiet}`),
  rule('error-ratio', 'service', 'measure: {ratio: {of: status_code >= 500}}; window: 1m; condition: "> 0.9"; min_count: 20'),
  rule(
    'error-ratio-of-the-region',
    'region',
    'measure: {ratio: {of: level = "error"}}; window: {tumbling: 1m}; condition: "> 0.9"; min_count: 20',
  ),
  rule('slow', 'service', 'measure: {percentile: {field: latency_ms, p: 95}}; window: 1m; condition: "> 100000"; min_count: 20'),
  rule(
    'slow-endpoint',
    'service, endpoint',
    'measure: {percentile: {field: latency_ms, p: 99}}; window: 1m; condition: "> 100000"; min_count: 20',
  ),
  rule('slow-errors', 'service', 'where: level = "error"; measure: {mean: latency_ms}; window: 2m; condition: "> 100000"'),
  rule('heavy', 'region', 'measure: {mean: bytes}; window: 1m; condition: "> 100000000"'),
  rule('heavy-service', 'service', 'where: bytes > 4000; measure: {sum: bytes}; window: 1m; condition: "> 100000000000"'),
  rule('silent', 'service', 'measure: absence; window: 1m; remember: 10m'),
  rule('surge', 'service', 'measure: {rate: {against: 2m}}; window: 1m; condition: "> 1000"'),
  rule(
    'customers-with-errors',
    'service',
    'where: status_code >= 500; measure: {distinct: {field: customer_id, limit: 1000}}; window: 1m; condition: "> 990"',
  ),
  rule('fatal', 'service', `where: level = "fatal"; measure: count; ${quiet}`),
  rule('retries', 'service', `where: attributes.retries >= 3; measure: count; ${quiet}`),
  rule('payments', 'customer_id', `where: service = "service-007" and status_code >= 500; measure: count; ${quiet}`),
].join('')}`;
