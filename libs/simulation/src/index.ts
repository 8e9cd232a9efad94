/** What would a month on so many GPUs be like? Seeded discrete events that drive the real rules on virtual time. */
export {};
