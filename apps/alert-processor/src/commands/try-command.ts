import { isoTime, systemClock } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { incidentKey } from '../decide/subject.ts';
import { DELIVERY_LIMITS } from '../notify/deliveries.ts';
import type { Notification } from '../notify/notification.ts';
import type { Notifier, SendOutcome } from '../notify/notifier.ts';
import { openNotifiers } from '../notify/open-notifiers.ts';
import { didYouMean } from '../rules/did-you-mean.ts';
import { type NamedNotifiers, namedNotifiers } from './named-notifiers.ts';
import { EXIT, type Ports } from './ports.ts';

export interface TryFlags {
  readonly notifiers?: string;
  readonly name?: readonly string[];
  readonly json?: boolean;
}

/** No rule of a user has a dot in its name. */
const RULE = 'tailrace.try';
const STATUSES = ['firing', 'resolved'] as const;

interface Tried {
  readonly name: string;
  readonly outcomes: readonly (SendOutcome & { readonly status: Notification['status'] })[];
}

/** `alerts try`: sends each notifier a test that fires and is over, and says what the receivers made of it; exit code 1 when one did not take it. */
export async function tryCommand(flags: TryFlags, ports: Ports): Promise<number> {
  const given = namedNotifiers(flags.notifiers, ports);
  if (given === undefined) throw new ConfigError(['Say which notifiers: --notifiers FILE, or ALERT_NOTIFIERS.']);
  const all = openNotifiers(given.file, ports.environment, systemClock, given.from);
  const notifiers = named(all, given, flags.name);
  const nowMs = ports.nowMs();
  const tried = await Promise.all(
    notifiers.map(async (notifier) => {
      const each = await tryOne(notifier, nowMs, ports.signal);
      // At once: another one may take a minute.
      if (flags.json !== true && !ports.signal.aborted) ports.out(`${triedLines(each).join('\n')}\n`);
      return each;
    }),
  );
  await Promise.all(all.map((notifier) => notifier.close()));
  ports.signal.throwIfAborted();
  const failed = tried.filter(({ outcomes }) => outcomes.some(({ kind }) => kind !== 'sent')).length;
  if (flags.json === true) ports.out(`${JSON.stringify({ notifiers: tried, failed })}\n`);
  else ports.out(`${summary(tried.length, failed)}\n`);
  return failed > 0 ? EXIT.finding : EXIT.good;
}

/** @throws ConfigError for a name that there is not. */
function named(notifiers: readonly Notifier[], { from }: NamedNotifiers, names: readonly string[] | undefined): readonly Notifier[] {
  if (notifiers.length === 0) throw new ConfigError([`There is no notifier in the file of ${from}: there is nothing to try.`]);
  const known = notifiers.map(({ name }) => name);
  const faults = (names ?? [])
    .filter((name) => !known.includes(name))
    .map((name) => `There is no notifier ${name}${didYouMean(name, known)}: the file has ${known.join(', ')}.`);
  if (faults.length > 0) throw new ConfigError(faults);
  return notifiers.filter(({ name }) => names === undefined || names.includes(name));
}

/** One try each, as live: what is told as a fault of the moment there would be tried again. */
async function tryOne(notifier: Notifier, nowMs: number, signal: AbortSignal): Promise<Tried> {
  const outcomes: Tried['outcomes'][number][] = [];
  for (const status of STATUSES) {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(notifier.tryMs ?? DELIVERY_LIMITS.tryMs)]);
    const outcome = await notifier.send(testNotification(status, nowMs), deadline);
    outcomes.push({ status, ...outcome });
    // What was not taken is hardly there to be closed, and a receiver that says nothing would be waited for twice.
    if (outcome.kind !== 'sent') break;
  }
  return { name: notifier.name, outcomes };
}

/** Everything that a receiver may want to see, and that it is a test. */
function testNotification(status: Notification['status'], nowMs: number): Notification {
  const incident = incidentKey(RULE, '[]', nowMs);
  return {
    key: `${incident}/${status}`,
    incident,
    status,
    rule: RULE,
    group: {},
    severity: 'info',
    summary: 'A test: nothing is wrong.',
    labels: {},
    response: { do: 'Nothing: somebody tries whether notifications arrive.', doNot: 'Do not look for a fault.' },
    startedMs: nowMs,
    decidedMs: nowMs,
    evidence: {
      text: `a test, sent by alerts try at ${isoTime(nowMs)}`,
      value: null,
      threshold: 0,
      events: 0,
      windowStartMs: nowMs,
      windowEndMs: nowMs,
      completeUpToMs: nowMs,
      missing: [],
      brokerMs: null,
      eventMs: null,
    },
  };
}

const WORDS = { sent: 'was taken', retry: 'was not taken (it would be tried again)', refused: 'was refused' } as const;

function triedLines({ name, outcomes }: Tried): readonly string[] {
  return outcomes.map((outcome) => `${name}: ${outcome.status} ${WORDS[outcome.kind]}${'reason' in outcome ? `: ${outcome.reason}` : ''}`);
}

function summary(tried: number, failed: number): string {
  const many = `${tried} notifier${tried === 1 ? '' : 's'}`;
  return failed === 0 ? `${many} tried: the test was taken everywhere.` : `${many} tried: ${failed} did not take the test.`;
}
