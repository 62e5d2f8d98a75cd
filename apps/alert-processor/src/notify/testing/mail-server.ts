import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly secure: boolean;
  /** Header lines, unfolded. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface MailServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: readonly Mail[];
}

/** A real SMTP server on a free port. `recipient` answers with what is wrong with one, by the reply's code. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  recipient: (address: string) => number | undefined = () => undefined,
): Promise<MailServer> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 100,
    ...options,
    onRcptTo: ({ address }, _session, callback) => {
      const code = recipient(address);
      callback(code === undefined ? null : Object.assign(new Error(`not now, not here: ${address}`), { responseCode: code }));
    },
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const [head = '', ...body] = Buffer.concat(chunks).toString().split('\r\n\r\n');
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: typeof session.user === 'string' ? session.user : undefined,
          secure: session.secure,
          headers: head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n'),
          body: body.join('\r\n\r\n'),
        });
        callback();
      });
    },
  });
  server.on('error', () => {}); // Clients that break off, and refuse a certificate.
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    mails,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
