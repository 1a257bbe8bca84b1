export * from './change-feed.js';
export * from './platform-load.js';
export * from './preload-buckets.js';
export * from './redis-bucket-store.js';
export * from './redis-connection.js';
export * from './redis-keys.js';
export * from './redis-snapshot-store.js';
export * from './running-time.js';
