import { connect, type LookupFunction, type Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import { type Lookup, literalFault, publicLookup } from './address-guard.ts';
import { cut, details, headline, oneLine } from './alert-text.ts';
import type { Notification } from './notification.ts';
import type { Notifier, SendOutcome } from './notifier.ts';

/** `starttls`: refused where the server has none. `opportunistic`: encrypted where the server can. `implicit`: TLS from the first byte on. */
export const TLS_MODES = ['starttls', 'implicit', 'opportunistic', 'none'] as const;
export type TlsMode = (typeof TLS_MODES)[number];

export interface EmailOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsMode;
  readonly login?: { readonly user: string; readonly password: string };
  readonly from: string;
  readonly to: readonly string[];
  readonly allowPrivate: boolean;
  /** The system's, but in tests. */
  readonly lookup?: Lookup;
  /** Trusted beside the system's, but in tests. */
  readonly ca?: string;
}

/** Mail servers let strangers wait before they greet them. */
const TRY_MS = 60_000;
const SUBJECT_UNITS = 200;
const LINE_UNITS = 4000;
/** nodemailer's codes for an answer to MAIL FROM, RCPT TO and DATA. */
const ABOUT_THE_MAIL = new Set(['EENVELOPE', 'EMESSAGE']);
/** Notifications of which some recipients have their mail and others not yet. */
const REMEMBERED = 1000;

/** One message a notification, over SMTP. A recipient who has it does not get it again because another one's try failed, as long as this process lives. */
export class Email implements Notifier {
  readonly name: string;
  readonly tryMs = TRY_MS;
  readonly #options: EmailOptions;
  /** By key, who has it already and who will never get it. */
  readonly #settled = new Map<string, { readonly done: Set<string>; readonly refused: string[] }>();

  constructor(name: string, options: EmailOptions) {
    this.name = name;
    this.#options = options;
  }

  async send(notification: Notification, signal: AbortSignal): Promise<SendOutcome> {
    const { key } = notification;
    const settled = this.#settled.get(key) ?? { done: new Set<string>(), refused: [] };
    const left = this.#options.to.filter((address) => !settled.done.has(address));
    try {
      const { accepted, rejectedErrors = [] } = await this.#submit(notification, left, signal);
      for (const address of accepted) settled.done.add(address);
      return this.#outcome(key, settled, rejectedErrors);
    } catch (error) {
      const { rejectedErrors } = error as SmtpFault;
      if (rejectedErrors !== undefined) return this.#outcome(key, settled, rejectedErrors);
      const { responseCode = 0, code = '' } = error as SmtpFault;
      // Only what was answered to the mail itself says something of it: a wrong password or a missing STARTTLS is mended, and the mail then goes.
      const refused = responseCode >= 500 && ABOUT_THE_MAIL.has(code);
      return { kind: refused ? 'refused' : 'retry', reason: reasonOf(error) };
    }
  }

  async close(): Promise<void> {}

  #outcome(key: string, settled: { readonly done: Set<string>; readonly refused: string[] }, faults: readonly SmtpFault[]): SendOutcome {
    const lasting = faults.filter(({ responseCode = 0 }) => responseCode >= 500);
    for (const { recipient = '', response = '' } of lasting) {
      settled.done.add(recipient);
      settled.refused.push(`${recipient}: ${cut(oneLine(response), LINE_UNITS)}`);
    }
    const again = faults.find((fault) => !lasting.includes(fault));
    this.#settled.delete(key);
    if (again !== undefined) {
      this.#settled.set(key, settled);
      const [oldest] = this.#settled.size > REMEMBERED ? this.#settled.keys() : [];
      if (oldest !== undefined) this.#settled.delete(oldest);
      return { kind: 'retry', reason: reasonOf(again) };
    }
    return settled.refused.length > 0 ? { kind: 'refused', reason: `refused for ${settled.refused.join('; ')}` } : { kind: 'sent' };
  }

  async #submit(
    notification: Notification,
    to: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly accepted: readonly string[]; readonly rejectedErrors?: readonly SmtpFault[] | undefined }> {
    const { host, port, tls, login, from, ca } = this.#options;
    const transport = createTransport({
      host,
      port,
      secure: tls === 'implicit',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'none',
      ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
      ...(ca === undefined ? {} : { tls: { ca } }),
      connectionTimeout: TRY_MS,
      greetingTimeout: TRY_MS,
      socketTimeout: TRY_MS,
      getSocket: (_options, callback) => {
        this.#connected(signal).then(
          (connection) => callback(null, { connection }),
          (error: Error) => callback(error),
        );
      },
    });
    const { key, incident } = notification;
    const thread = messageId(incident, from);
    return transport.sendMail({
      from,
      to: [...this.#options.to],
      envelope: { from, to: [...to] },
      messageId: messageId(key, from),
      inReplyTo: thread,
      references: thread,
      subject: cut(headline(notification), SUBJECT_UNITS),
      text: plainText(notification),
      date: new Date(notification.decidedMs),
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Tailrace-Key': key },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal,
    });
  }

  /** Connected to an address that was checked: what nodemailer would look up by itself is not. */
  #connected(signal: AbortSignal): Promise<Socket> {
    const { host, port, allowPrivate, lookup } = this.#options;
    const literal = allowPrivate ? undefined : literalFault(host);
    if (literal !== undefined) return Promise.reject(literal);
    const checked: LookupFunction | undefined = allowPrivate ? undefined : publicLookup(lookup);
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, signal, ...(checked === undefined ? {} : { lookup: checked }) });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(socket);
      });
    });
  }
}

/** What nodemailer says of one recipient, or of the whole message. */
interface SmtpFault {
  readonly code?: string | undefined;
  readonly recipient?: string | undefined;
  readonly responseCode?: number | undefined;
  readonly response?: string | undefined;
  readonly rejectedErrors?: readonly SmtpFault[] | undefined;
}

function reasonOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

/** An id that a key can be read from, of the characters of an atom (RFC 5322, 3.2.3), `/` among them, in the sender's domain. */
function messageId(key: string, from: string): string {
  return `<${key.replaceAll(/[^A-Za-z0-9/.-]/g, '_')}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

function plainText(notification: Notification): string {
  const lines = details(notification).map(([name, text]) => `${name}: ${cut(text, LINE_UNITS)}`);
  return [headline(notification), '', ...lines, ''].join('\n');
}

/** One plain address: no name, no list, nothing that a header could be ended or begun with. */
export const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
