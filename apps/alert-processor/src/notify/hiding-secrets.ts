import { cut, oneLine } from './alert-text.ts';
import type { Notifier } from './notifier.ts';
import { comparable, type Form, strikeOut } from './strike-out.ts';

/** So much of a reason is kept. Cut only here: half a secret would not be found any more. */
const REASON_UNITS = 500;

/**
 * A notifier whose reasons hold no secret, whatever the receiver or a library puts into an error: they are logged, kept in alert-state and shown. A secret
 * may be repeated whole or in the parts that are secret by themselves, as it is or escaped, and in base64.
 */
export function hidingSecrets(notifier: Notifier, secrets: readonly string[]): Notifier {
  const forms = secrets.flatMap(formsOf);
  const clean = (reason: string): string => cut(strikeOut(oneLine(reason), forms), REASON_UNITS);
  return {
    name: notifier.name,
    ...(notifier.tryMs === undefined ? {} : { tryMs: notifier.tryMs }),
    send: async (notification, signal) => {
      const outcome = await notifier.send(notification, signal);
      return 'reason' in outcome ? { ...outcome, reason: clean(outcome.reason) } : outcome;
    },
    close: () => notifier.close(),
  };
}

function formsOf(secret: string): readonly Form[] {
  const whole = secret.trim();
  const words = whole.split(/\s+/).filter((word) => word.length >= 6);
  const parts = [...new Set([whole, whole.replaceAll(' ', '+'), ...words, ...basicOf(whole), ...urlParts(whole)])];
  const plain = parts.filter((part) => part !== '').map((part) => ({ bytes: comparable(part), word: false }));
  return [...plain, ...parts.flatMap(base64Of).map((text) => ({ bytes: text.toLowerCase(), word: true }))];
}

/** `Basic` names user and password in base64 (RFC 7617): the receiver may repeat what they are. */
function basicOf(secret: string): readonly string[] {
  const [, encoded] = /^Basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(secret) ?? [];
  if (encoded === undefined) return [];
  const pair = Buffer.from(encoded, 'base64').toString();
  const password = pair.slice(pair.indexOf(':') + 1);
  return [pair, password].filter((part) => part.length > 1);
}

/** What of a secret URL is secret: its path from any part on, its last part, parts that look like a token, and what its query says. */
function urlParts(secret: string): readonly string[] {
  if (!/^https?:/i.test(secret) || !URL.canParse(secret)) return [];
  const { pathname, search, searchParams } = new URL(secret);
  const steps = pathname.split('/').filter((step) => step !== '');
  const ends = steps.map((_, from) => steps.slice(from).join('/'));
  const tokens = steps.filter((step) => step.length >= 16 || (step.length >= 8 && /[0-9A-Z]/.test(step)));
  return [`${pathname}${search}`, pathname, ...ends, ...tokens, search.slice(1), ...searchParams.values()].filter(
    (part) => part.length > 3,
  );
}

/** What must stand in the base64 of any text that the secret is part of, whatever stands before it: SMTP sends a password so. */
function base64Of(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const sure = text.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6));
    const forURLs = sure.replaceAll('+', '-').replaceAll('/', '_');
    return [...new Set([sure, forURLs])].filter((form) => form.length >= 5);
  });
}
