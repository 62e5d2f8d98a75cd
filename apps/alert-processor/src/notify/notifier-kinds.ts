/** Every key of a notifiers file. Reader, JSON Schema and docs/reference/notifiers.md are made from this table. */
import { isIP } from 'node:net';
import type { Clock } from '@tailrace/kafka-kit';
import { duration } from '../rules/forms.ts';
import { ruleName } from '../rules/rule-keys.ts';
import { choice, type KeyTable, list, meant, number, type Shape, text, type ValuesOf } from '../rules/shapes.ts';
import { type Lookup, urlFault } from './address-guard.ts';
import { alertmanagerMessage } from './alertmanager.ts';
import { ADDRESS, Email, TLS_MODES } from './email.ts';
import { type HttpMessage, HttpNotifier } from './http-notifier.ts';
import type { Notification } from './notification.ts';
import type { Notifier } from './notifier.ts';
import { PAGERDUTY_URL, pagerdutyMessage } from './pagerduty.ts';
import { orSecret, type SecretPlace, secret } from './secret.ts';
import { slackMessage } from './slack.ts';
import { webhookMessage } from './webhook.ts';

/** What a notifier is opened with, beside what stands in the file. */
export interface OpenPorts {
  readonly clock: Clock;
  readonly lookup?: Lookup;
  /** The text that stands there; undefined where it can not be had: the problem is told already. */
  text(key: string, value: string | SecretPlace): string | undefined;
  /** Tells a problem with a key. */
  problem(key: string, sentence: string): undefined;
}

export interface NotifierKind<K extends KeyTable = KeyTable> {
  readonly about: string;
  /** What the receiver makes of what it is sent: for the page. */
  readonly notes: readonly string[];
  readonly keys: K;
  open(name: string, values: ValuesOf<K>, ports: OpenPorts): Notifier | undefined;
}

const flag: Shape<boolean> = {
  words: 'true or false',
  schema: { type: 'boolean' },
  read: (node, reading) => {
    const { value } = node as { readonly value?: unknown };
    if (typeof value === 'boolean') return value;
    reading.problem(node, 'This must be true or false.');
    return undefined;
  },
};

const url = orSecret(text({ max: 2048, words: 'a URL that begins with https:// or http://' }));
const address = meant('one e-mail address, without a name', { type: 'string', format: 'email', maxLength: 320 }, (value) =>
  ADDRESS.test(value) ? { value } : { problem: 'This must be one e-mail address without a name, like oncall@example.com.' },
);
const mailHost = meant(
  'the name or address of a server, without a port',
  // Names have no colon, and addresses of IPv6 two at least.
  { type: 'string', maxLength: 255, pattern: '^([A-Za-z0-9.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$' },
  (value) => {
    if (value.length <= 255 && (isIP(value) !== 0 || /^[A-Za-z0-9.-]+$/.test(value))) return { value };
    const [, host, port] = /^\[?([^[\]]+?)\]?:([0-9]{1,5})$/.exec(value) ?? [];
    return host === undefined
      ? { problem: 'This must be the name or address of a server, like mail.example.com.' }
      : { problem: `A host is the name or address of a server without its port: write host: ${JSON.stringify(host)} and port: ${port}.` };
  },
);
const DAY_MS = 86_400_000;
const HOLD_MS = 7 * DAY_MS;
const SMTP_PORTS = { implicit: 465, starttls: 587, opportunistic: 25, none: 25 } as const;

const allowPrivate = {
  shape: flag,
  about:
    'Whether the receiver may be at a private, loopback, link-local or reserved address. Default false: such an address is not connected to, even when a name leads there.',
  example: 'true',
};
const authorization = {
  shape: secret,
  about: 'The value of the header `Authorization`, whole: `Bearer …`, `Basic …`.',
  example: '{env: ONCALL_AUTHORIZATION}',
};

/** Keeps the types of a kind's keys together. */
function kind<const K extends KeyTable>(of: NotifierKind<K>): NotifierKind<K> {
  return of;
}

/** A notifier over HTTP, where its URL and its header can be had and are allowed. */
function overHttp(
  name: string,
  given: {
    readonly url: string | SecretPlace;
    readonly allow_private: boolean | undefined;
    readonly authorization?: SecretPlace | undefined;
  },
  ports: OpenPorts,
  message: (notification: Notification, nowMs: number) => HttpMessage,
  path = '',
): Notifier | undefined {
  const { clock, lookup } = ports;
  const allowed = given.allow_private === true;
  const place = ports.text('url', given.url);
  const header = given.authorization === undefined ? '' : ports.text('authorization', given.authorization);
  if (place === undefined || header === undefined) return undefined;
  const fault = urlFault(place, allowed);
  if (fault !== undefined) return ports.problem('url', `The URL ${fault}.`);
  if (!/^[\x20-\x7e]*$/.test(header))
    return ports.problem('authorization', 'A header holds ASCII characters only, and this value has others.');
  const target = new URL(place);
  target.pathname = target.pathname.replace(/\/*$/, '') + path;
  const to = { url: path === '' ? new URL(place) : target, allowPrivate: allowed, ...(lookup === undefined ? {} : { lookup }) };
  return new HttpNotifier(name, to, clock, (notification, nowMs) => {
    const { body, headers } = message(notification, nowMs);
    return { body, headers: header === '' ? { ...headers } : { ...headers, authorization: header } };
  });
}

export const NOTIFIER_KINDS = {
  webhook: kind({
    about: 'Posts the whole notification as JSON, under its idempotency key and signed, to a receiver of your own.',
    notes: [],
    keys: {
      url: { shape: url, required: true, about: 'Where it is posted to.', example: 'https://oncall.example.com/tailrace' },
      secret: { shape: secret, about: 'Signs each post (see below). Absent: posts are not signed.', example: '{env: ONCALL_SECRET}' },
      authorization,
      allow_private: allowPrivate,
    },
    open: (name, values, ports) => {
      const signing = values.secret === undefined ? '' : ports.text('secret', values.secret);
      if (signing === undefined) return undefined;
      const with_ = signing === '' ? undefined : signing;
      return overHttp(name, values, ports, (notification, nowMs) => webhookMessage(notification, nowMs, with_));
    },
  }),
  alertmanager: kind({
    about: 'Posts to Prometheus’ Alertmanager (`/api/v2/alerts`), which groups, silences and routes.',
    notes: [
      'An alert’s labels are the rule’s labels, the group, `alertname` (the rule), `severity`, and `tailrace_group` (the hash of the group in the incident’s name, which keeps groups apart whose labels look the same); what stands in label names beside letters, digits and `_` becomes `_`. All else is annotations.',
      'Alertmanager takes an alert for resolved once its `endsAt` has passed. A firing one is sent with `endsAt` = decided + `hold`, each re-notification (`renotify` of the rule) moves it on, and the resolved one ends it at once. So let `hold` be longer than `renotify`, and than any alert without `renotify` may last. Should tailrace be gone for good, Alertmanager lets the alert go after `hold`.',
      '`startsAt` is the start of the first window that fired, in every send of an incident, so it lies up to a window before the fault; when it was first decided stands in the annotation `since` of the first one. Of an incident that begins right behind an earlier one it may lie a window ahead.',
    ],
    keys: {
      url: { shape: url, required: true, about: 'Its address, without `/api/v2/alerts`.', example: 'https://alertmanager.example.com' },
      hold: {
        shape: duration(300_000, 365 * DAY_MS),
        about: 'For how long a firing alert stands unless it is told again or resolved. Default 7d.',
        example: '7d',
      },
      authorization,
      allow_private: allowPrivate,
    },
    open: (name, values, ports) =>
      overHttp(name, values, ports, (notification) => alertmanagerMessage(notification, values.hold ?? HOLD_MS), '/api/v2/alerts'),
  }),
  slack: kind({
    about:
      'An incoming webhook of Slack, or of what takes the same: Mattermost, Rocket.Chat, Discord (its address with `/slack` behind it).',
    notes: [
      '`&`, `<` and `>` are escaped, so that no text of an event becomes a link or a mention, and calls to everybody are broken. Long texts are cut.',
    ],
    keys: {
      url: {
        shape: url,
        required: true,
        about: 'The address of the incoming webhook. Whoever knows it can post: keep it as a secret.',
        example: '{env: SLACK_WEBHOOK_URL}',
      },
      allow_private: allowPrivate,
    },
    open: (name, values, ports) => overHttp(name, values, ports, slackMessage),
  }),
  pagerduty: kind({
    about: 'PagerDuty’s Events API v2.',
    notes: [
      '`dedup_key` is the incident: what is told again stands in the incident that is open, and `resolve` closes it. `timestamp` is when that was decided, `started_at` in the details the start of the first window that fired.',
    ],
    keys: {
      routing_key: { shape: secret, required: true, about: 'The integration key of the service.', example: '{env: PAGERDUTY_ROUTING_KEY}' },
      url: { shape: url, about: `The endpoint. Default ${PAGERDUTY_URL}`, example: 'https://events.eu.pagerduty.com/v2/enqueue' },
      allow_private: allowPrivate,
    },
    open: (name, values, ports) => {
      const key = ports.text('routing_key', values.routing_key);
      if (key === undefined) return undefined;
      const { url: given = PAGERDUTY_URL, allow_private } = values;
      return overHttp(name, { url: given, allow_private }, ports, (notification) => pagerdutyMessage(notification, key));
    },
  }),
  email: kind({
    about: 'A plain text over SMTP.',
    notes: [
      'The Message-ID is made from the idempotency key, and what belongs to one incident stands in one thread.',
      'A recipient who is refused for a while (4xx) is tried again without the others getting it twice; one who is refused for good (5xx) is told as refused.',
    ],
    keys: {
      host: {
        shape: mailHost,
        required: true,
        about: 'The mail server that takes it.',
        example: 'mail.example.com',
      },
      port: {
        shape: number({ min: 1, max: 65_535 }),
        about: 'Default 587; 465 with `tls: implicit`, 25 with `opportunistic` and `none`.',
        example: '587',
      },
      tls: {
        shape: choice(TLS_MODES),
        about:
          '`starttls` (default): encrypted, or not sent. `implicit`: TLS from the first byte on. `opportunistic`: encrypted where the server can. `none`: never.',
        example: 'starttls',
      },
      user: { shape: text({ max: 256 }), about: 'The name to log in with. Absent: no login.', example: 'tailrace' },
      password: { shape: secret, about: 'Required with `user`.', example: '{file: /run/secrets/smtp}' },
      from: { shape: address, required: true, about: 'The sender.', example: 'tailrace@example.com' },
      to: {
        shape: list(address, { max: 50, what: 'e-mail addresses' }),
        required: true,
        about: 'Who gets it.',
        example: '[oncall@example.com]',
      },
      allow_private: allowPrivate,
    },
    open: (name, values, ports) => {
      const { host, tls = 'starttls', user, password, from, to, allow_private } = values;
      if ((user === undefined) !== (password === undefined)) return ports.problem('user', 'A login has both user and password.');
      if (to.length === 0) return ports.problem('to', 'At least one address gets it.');
      if (user !== undefined && tls === 'none')
        return ports.problem('tls', 'A password does not travel in the open: use starttls or implicit.');
      const pass = password === undefined ? '' : ports.text('password', password);
      if (pass === undefined) return undefined;
      const login = user === undefined ? {} : { login: { user, password: pass } };
      const lookup = ports.lookup === undefined ? {} : { lookup: ports.lookup };
      const { port = SMTP_PORTS[tls] } = values;
      return new Email(name, { host, port, tls, ...login, from, to, allowPrivate: allow_private === true, ...lookup });
    },
  }),
} as const;

export type NotifierKindName = keyof typeof NOTIFIER_KINDS;
export const KIND_NAMES = Object.keys(NOTIFIER_KINDS) as readonly NotifierKindName[];

/** What every notifier has. */
export const COMMON_KEYS = {
  name: {
    shape: ruleName,
    required: true,
    about: 'Its name, in `notify` of rules, in metrics and in `tailrace alerts`. No two have the same.',
    example: 'oncall',
  },
  kind: { shape: choice(KIND_NAMES), required: true, about: 'What it is.', example: 'webhook' },
} as const;
