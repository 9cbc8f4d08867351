/*
 * Compares the functions of {{ library }} with {{ states }} recorded states; the exit
 * status is 0 if all results agree.
 */

#include "{{ library }}.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

{% for function in functions %}
{% for argument, values in function.recorded() %}
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
{% for argument, _ in function.recorded() if not argument.is_input %}
        error = fmax(error, difference({{ argument.name }}, &{{ function.name }}_{{ argument.name }}[k * {{ argument.entries }}], {{ argument.entries }}));
{% endfor %}
    }
    return report("{{ function.name }}", error, {{ "%g" | format(function.tolerance(real)) }});
}

{% endfor %}
int main(void)
{
    int failures = 0;
{% for function in functions %}
    failures += test_{{ function.name }}();
{% endfor %}
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
