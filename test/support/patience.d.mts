export const SLOWNESS: number;
export const PATIENCE: number;
export const BUSY: boolean;
