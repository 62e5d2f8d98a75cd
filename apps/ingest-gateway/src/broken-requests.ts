import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Answer, type AnswerBody, type AnswerCode, answer } from './answers.ts';

export const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' } as const;

export function textOf(body: AnswerBody): string {
  return `${JSON.stringify(body)}\n`;
}

/** What Node's HTTP says of a request that it could not read; every other fault is `bad_request`. */
const ANSWER_OF_FAULT: Readonly<Record<string, AnswerCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
};

/** Answers what never became a request: broken HTTP, headers that are too large, a request that did not arrive in time. */
export function answerBrokenRequest(fault: Error & { code?: string }, socket: Duplex): void {
  if (fault.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else answerOnSocket(socket, answer(ANSWER_OF_FAULT[fault.code ?? ''] ?? 'bad_request'));
}

/** Requests that Node answers without a body, or by closing the connection, before any route is asked. */
export function answerInOwnForm(server: Server): void {
  server.on('checkExpectation', (_request, response) => {
    const { status, body } = answer('expectation_failed');
    // The body may or may not follow: nothing behind it on this connection can be told apart.
    response.writeHead(status, { ...JSON_TYPE, connection: 'close' }).end(textOf(body));
  });
  server.on('connect', (_request, socket) => {
    answerOnSocket(socket, answer('method_not_allowed', 'This is no proxy.'));
  });
}

function answerOnSocket(socket: Duplex, { status, body }: Answer): void {
  const text = textOf(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${JSON_TYPE['content-type']}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}
