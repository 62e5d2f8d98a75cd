import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection on which a test says exactly which bytes go out and when. */
export class RawConnection {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  #received = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = once(socket, 'close');
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#received += text;
    });
    socket.on('error', () => undefined); // A reset is an end, and `received` shows what came before it.
  }

  static async to(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  get received(): string {
    return this.#received;
  }

  send(text: string | Buffer): void {
    this.socket.write(text);
  }

  /** Resolves once what was received contains `text`, or the connection is closed. */
  async until(text: string): Promise<string> {
    while (!this.#received.includes(text) && !this.socket.closed) {
      await Promise.race([once(this.socket, 'data').catch(() => undefined), this.closed]);
    }
    return this.#received;
  }
}

export function postHead(length: number, more = ''): string {
  return `POST /v1/events HTTP/1.1\r\nhost: gateway\r\ncontent-length: ${length}\r\n${more}\r\n`;
}
