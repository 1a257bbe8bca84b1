import { jest } from '@jest/globals';
import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { EventEmitter } from 'node:events';
import { GrpcHealth } from './grpc-health.js';

test('whoever watches is told when it changes, and not at each look', async () => {
  jest.useFakeTimers();
  let ready = true;
  const readiness = () => Promise.resolve({ ready, stopping: false, checks: [] });
  const health = new GrpcHealth({ readiness }, ['a.Service']);
  let methods: UntypedServiceImplementation = {};
  health.addTo({ addService: (_, implementation) => void (methods = implementation) });
  await health.start();

  const heard: unknown[] = [];
  const write = (message: { status: string }) => heard.push(message.status);
  (methods['watch'] as unknown as (call: object) => void)(Object.assign(new EventEmitter(), { request: { service: 'a.Service' }, write }));
  expect(heard).toEqual(['SERVING']);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(heard).toEqual(['SERVING']);
  ready = false;
  await jest.advanceTimersByTimeAsync(5_000);
  expect(heard).toEqual(['SERVING', 'NOT_SERVING']);
  ready = true;
  await jest.advanceTimersByTimeAsync(5_000);
  health.stop();
  expect(heard).toEqual(['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING']);
  jest.useRealTimers();
});
