import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { updateDocs } from '../config.ts';
import { alertsPage } from './alerts-page.ts';

const file = new URL('../../../../docs/reference/alerts.md', import.meta.url);

test('the page about the commands of alerts is what they say (UPDATE_DOCS=1 writes it)', () => {
  if (updateDocs) writeFileSync(file, alertsPage());
  expect(readFileSync(file, 'utf8')).toBe(alertsPage());
});
