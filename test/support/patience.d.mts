export const SLOWNESS: number;
export const PATIENCE: number;
