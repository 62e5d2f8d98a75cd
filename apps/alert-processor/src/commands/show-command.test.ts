import { expect, test } from 'vitest';
import { alertState } from '../testing/alert-states.ts';
import { nothing } from './show-command.ts';

const alerts = [
  alertState({ rule: 'error-burst', group: '["web"]', transitions: [] }),
  alertState({ rule: 'error-burst', group: '["shop"]', transitions: [] }),
  alertState({ rule: 'any-for', group: '[]', transitions: [] }),
];

test('of a group that there is not, the groups of that rule are named, and not other rules', () => {
  expect(nothing(alerts, 'error-burst', ['1=nix'])).toBe(
    'error-burst has no alert of 1=nix: it has 1=shop | 1=web; npx tailrace alerts ls --all shows them all.',
  );
  expect(nothing(alerts, 'any-for', ['1=nix'])).toContain('it has (no group);');
});

test('groups with blanks, commas or nothing in them were named in words that no shell takes, and their controls reached the terminal', () => {
  const odd = [alertState({ rule: 'error-burst', group: JSON.stringify(["a, b's \u001b[2J", null]), transitions: [] })];
  expect(nothing(odd, 'error-burst', ['1=nix'])).toContain(`it has '1=a, b'\\''s \\u{1b}[2J' '2=(none)'; `);
});

test('of a rule that there is not, those that have fired are named, and the one that is near', () => {
  expect(nothing(alerts, 'eror-burst', [])).toContain(
    'no alert of eror-burst (did you mean error-burst?) (these have fired: any-for, error-burst)',
  );
  expect(nothing([], 'x', [])).toContain('(no rule has fired yet)');
});

test('of an incident that is not kept it is said that only the last one is', () => {
  expect(nothing(alerts, 'error-burst/0123456789abcdef/1', [])).toContain(
    'There is no incident error-burst/0123456789abcdef/1: only the last',
  );
});
