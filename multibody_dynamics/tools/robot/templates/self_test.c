{# Copyright 2026 multibody_dynamics developers
   SPDX-License-Identifier: Apache-2.0 #}
/*
 * Compares the functions of {{ library }} with {{ states }} recorded states; the exit
 * status is 0 if all results agree.
 */

{% if motor_test %}
#include "{{ name }}_actuators.h"
{% endif %}
#include "{{ library }}.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
{% if motor_test %}
#include <string.h>
{% endif %}

#define STATES {{ states }}

/* The largest difference, relative to the largest component. */
static double difference(const {{ real }} *found, const {{ real }} *expected, int count)
{
    double error = 0.0;
    double size = 0.0;
    int i;
    for (i = 0; i < count; ++i) {
        const double d = fabs((double)found[i] - (double)expected[i]);
        if (!(d < HUGE_VAL)) { /* NaN or infinite */
            return HUGE_VAL;
        }
        error = fmax(error, d);
        size = fmax(size, fabs((double)expected[i]));
    }
    return size > 0.0 ? error / size : error;
}

static int report(const char *name, double error, double tolerance)
{
    const int failed = !(error <= tolerance);
    printf("%s: largest error %.1e of the largest component%s\n", name, error,
           failed ? ": WRONG" : "");
    return failed;
}

{% if functions[0].closes %}
/* Zero if all entries are within -1 and 1. */
static double invalid(const double *closure, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (!(fabs(closure[i]) <= 1.0)) {
            return HUGE_VAL;
        }
    }
    return 0.0;
}

{% endif %}
{% for function in functions %}
{% for argument, values in function.recorded() if argument.name != "closure" %}
{{ c.constant_array(function.name ~ "_" ~ argument.name, values, real) }}
{% endfor %}
static int test_{{ function.name }}(void)
{
    double error = 0.0;
    int k;
{% for argument, _ in function.recorded() if not argument.is_input %}
    {{ real }} {{ argument.name }}[{{ argument.entries }}];
{% endfor %}
    for (k = 0; k < STATES; ++k) {
        {{ function.name }}(
{% for argument, _ in function.recorded() %}
{% set recorded = "&" ~ function.name ~ "_" ~ argument.name ~ "[k * " ~ argument.entries ~ "]" %}
            {{ recorded if argument.is_input else argument.name }}{{ ");" if loop.last else "," }}
{% endfor %}
{% for argument, _ in function.recorded() if not argument.is_input and argument.name != "closure" %}
        error = fmax(error, difference({{ argument.name }}, &{{ function.name }}_{{ argument.name }}[k * {{ argument.entries }}], {{ argument.entries }}));
{% endfor %}
{% if function.closes %}
        error = fmax(error, invalid(closure, {{ function.closes }}));
{% endif %}
    }
    return report("{{ function.name }}", error, {{ "%g" | format(function.tolerance(real)) }});
}

{% endfor %}
{% if motor_test %}
{{ motor_test }}
{% endif %}
int main(void)
{
    int failures = {{ "test_motor_feedforward()" if motor_test else 0 }};
{% for function in functions %}
    failures += test_{{ function.name }}();
{% endfor %}
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
