export * from './job-data.js';
export * from './outbox-relay.js';
export * from './preload-queue.js';
export * from './queue-handle.js';
export * from './queues.js';
export * from './reload-queue.js';
