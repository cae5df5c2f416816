package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// readTimeout is how long reading a gauge may take, so that one that is slow does not cost all metrics.
const readTimeout = 2 * time.Second

// Gauges returns a collector of gauges that are read together each time somebody asks for metrics. read sets each
// value, also where it is not known: to -1.
func Gauges(read func(ctx context.Context, set SetGauge), gauges ...*prometheus.Desc) prometheus.Collector {
	return collector{gauges, read}
}

// SetGauge sets the value of a gauge with its labels.
type SetGauge func(gauge *prometheus.Desc, value float64, labels ...string)

// Gauge returns a collector of one gauge without labels, which is -1 where it cannot be read.
func Gauge(name, help string, read func(ctx context.Context) (float64, error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		value, err := read(ctx)
		if err != nil {
			return -1
		}
		return value
	})
}

type collector struct {
	gauges []*prometheus.Desc
	read   func(ctx context.Context, set SetGauge)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.gauges {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	c.read(ctx, func(gauge *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, labels...)
	})
}
