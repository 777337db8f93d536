package org

import "context"

// SweepOnce is sweepOnce.
func (s *Service) SweepOnce(ctx context.Context) int { return s.sweepOnce(ctx) }
