import type { Notifier } from './notifier.ts';

const STRUCK_OUT = '(secret)';

/**
 * A notifier whose reasons hold no secret, whatever the receiver or a library puts into an error: they are logged, kept in alert-state and shown. A secret
 * may be repeated as it is, in a URL or in JSON.
 */
export function hidingSecrets(notifier: Notifier, secrets: readonly string[]): Notifier {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...pathOf(secret)]);
  const clean = (text: string): string => forms.reduce((left, form) => left.replaceAll(form, STRUCK_OUT), text);
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

/** What of a secret URL is secret. */
function pathOf(secret: string): readonly string[] {
  if (!/^https?:/.test(secret) || !URL.canParse(secret)) return [];
  const { pathname, search } = new URL(secret);
  return [`${pathname}${search}`, pathname].filter((part) => part.length > 1);
}
