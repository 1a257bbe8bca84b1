import { headerBlock } from '../http2/header-block.js';
import { detailsOf, type GrpcError } from './grpc-error.js';
import { MESSAGE_HEAD_BYTES } from './message-reader.js';

/** Headers of answers, ready to be sent. */
const HEAD = { ':status': '200', 'content-type': 'application/grpc+proto', 'grpc-accept-encoding': 'identity,deflate,gzip' };
export const HEAD_BLOCK = headerBlock(HEAD);
export const OK_BLOCK = headerBlock({ 'grpc-status': '0' });

/** The end of a call that has begun to answer. */
export function statusBlock(error: GrpcError): Buffer {
  return headerBlock(statusOf(error));
}

/** The whole answer to a call that fails. */
export function refusalBlock(error: GrpcError): Buffer {
  return headerBlock({ ...HEAD, ...statusOf(error) });
}

/** To what is no call of gRPC. */
export function httpRefusalBlock(status: number): Buffer {
  return headerBlock({ ':status': String(status) });
}

function statusOf(error: GrpcError): Record<string, string> {
  return {
    'grpc-status': String(error.code),
    'grpc-message': encodeURI(error.message.toWellFormed()),
    'grpc-status-details-bin': detailsOf(error).toString('base64'),
  };
}

/** A message with what stands before it. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(MESSAGE_HEAD_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, MESSAGE_HEAD_BYTES);
  return frame;
}
