import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { testCommand } from './commands/test-command.ts';
import { webhookSchema } from './notify/webhook-schema.ts';
import { rulesSchema } from './rules/rules-schema.ts';
import { rulesOf } from './testing/rules-text.ts';

const at = (path: string) => new URL(`../../../${path}`, import.meta.url);
const GUIDE = readFileSync(at('docs/alerts.md'), 'utf8');
const RULE = readFileSync(at('examples/rules/failing-refunds.yaml'), 'utf8');
const ajv = new Ajv({ strictTypes: false, allowUnionTypes: true, formats: { 'date-time': true } });

it('the rule that the guide shows is the one that it runs, and makes sense', () => {
  const shown = /```yaml\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? '';
  expect(RULE.endsWith(`\n${shown}`)).toBe(true);
  expect(rulesOf(shown).rules.map(({ name }) => name)).toEqual(['failing-refunds']);
  expect(ajv.compile(rulesSchema())(parse(RULE))).toBe(true);
});

it('its test cases are good', async () => {
  let out = '';
  const tell = (text: string): void => {
    out += text;
  };
  const ports = { out: tell, note: tell, nowMs: Date.now, environment: {}, signal: new AbortController().signal };
  expect(await testCommand([fileURLToPath(at('examples/rules/failing-refunds.test.yaml'))], {}, ports), out).toBe(0);
});

it('the notification that it shows is one that a webhook is posted, with the words of the rule', () => {
  const shown = JSON.parse(/```\n(\{[\s\S]*?)```/.exec(GUIDE)?.[1] ?? '') as Record<string, unknown>;
  const fits = ajv.compile(webhookSchema());
  expect(fits(shown), JSON.stringify(fits.errors)).toBe(true);
  const [rule] = rulesOf(RULE).rules;
  expect(shown).toMatchObject({
    rule: rule?.name,
    summary: rule?.text.summary.replace('{attributes.provider}', 'acme'),
    response: { do: rule?.text.response.do, do_not: rule?.text.response.doNot },
    runbook: rule?.text.runbook,
    labels: { team: 'payments' },
    severity: rule?.text.severity,
    evidence: { threshold: rule?.condition.threshold },
  });
});
