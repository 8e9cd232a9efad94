/** Where did each GPU-second of a job go? */
export {};
